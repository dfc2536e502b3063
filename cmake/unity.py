"""Which sources may be compiled together: unity.py < TARGETS > GROUPS.cmake

A line of TARGETS is a target and its sources, split by semicolons; GROUPS.cmake tells CMake the group of each source.
What one file names for itself alone (in an anonymous namespace, by static, by #define) no other file of its group may name
at all. So files need no names that are unique in their folder, and no list says which may go together.
"""

import os
import re
import sys

MOST_FILES = 10
MOST_BYTES = 90_000  # so that two at once fit a small machine's memory, and one core does not end alone

NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<end>[^()\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.S)
DEFINE = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\\n|[^\n])*', re.M)
DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
TOKEN = re.compile(r'(?<![\w.])(?:(->|\.|::)\s*)?\b([A-Za-z_]\w*)')
PIECE = re.compile(r'[{}();]|[^{}();]+')
DECLARED = re.compile(r'([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=[=,]|$)')
KINDS = re.compile(r'\b(?:struct|class|union|enum|concept|using)\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*)')


class Source:
    def __init__(self, path):
        with open(path, encoding='utf-8', errors='replace') as file:
            text = NOISE.sub('""', file.read())
        self.path = path
        self.bytes = len(text)
        defines = [match for match in DEFINE.finditer(text)]
        first_include = re.search(r'^[ \t]*#[ \t]*include', text, re.M)
        # What is set for the headers to come, or opened to all names, is not to be carried into another file.
        self.alone = bool(re.search(r'^\s*using\s+namespace\b|^\s*#\s*pragma', text, re.M)) or any(
            first_include and match.start() < text.rfind('#include') for match in defines)
        self.own = {match[1] for match in defines}
        body = DIRECTIVE.sub('', text)
        self.names = {match[2] for match in TOKEN.finditer(body) if match[1] not in ('.', '->')} | self.own
        self._find_own(body)

    def _find_own(self, body):
        """Names at the level of a namespace: those in anonymous ones, and static ones elsewhere."""
        scopes = []   # 'named', 'anonymous', 'enum' or 'inside' for each brace that is open
        statement, parentheses = '', 0
        for piece in PIECE.findall(body):
            level = scopes[-1] if scopes else 'named'
            if piece == '{':
                kind = 'inside'
                words = statement.strip()
                if parentheses == 0 and level in ('named', 'anonymous'):
                    if re.search(r'\bnamespace\s*$', words):
                        kind = 'anonymous'
                    elif re.search(r'\bnamespace\b[\w\s:]*$', words):
                        kind = 'anonymous' if level == 'anonymous' else 'named'
                    elif words.startswith('extern'):
                        kind = level
                    else:
                        self._take(words, level)
                        kind = 'enum' if re.match(r'enum\b(?!\s+(class|struct))', words) and self._counts(words, level) else 'inside'
                scopes.append(kind)
                if kind != 'inside' or parentheses == 0:
                    statement = ''
            elif piece == '}':
                if level == 'enum':
                    self.own |= set(re.findall(r'[A-Za-z_]\w*', statement))
                    statement = ''
                if scopes:
                    scopes.pop()
            elif level == 'inside':
                pass
            elif piece == '(':
                if parentheses == 0:
                    statement += '('
                parentheses += 1
            elif piece == ')':
                parentheses = max(0, parentheses - 1)
            elif piece == ';' and parentheses == 0 and level in ('named', 'anonymous'):
                self._take(statement.strip(), level)
                statement = ''
            elif parentheses == 0:
                statement += piece

    @staticmethod
    def _counts(words, level):
        return level == 'anonymous' or re.search(r'\bstatic\b', words)

    def _take(self, words, level):
        if not self._counts(words, level) or re.match(r'(TEST|TEST_F|TEST_P|INSTANTIATE\w*|BENCHMARK\w*)\b', words):
            return
        head = words.split('(')[0] if '(' in words else words
        self.own |= set(re.findall(r'([A-Za-z_]\w*)\s*(?=\()', words))
        self.own |= set(DECLARED.findall(head)) | set(KINDS.findall(words))

    def clashes(self, other):
        return not self.own.isdisjoint(other.names) or not other.own.isdisjoint(self.names)


def groups_of(sources):
    """Neighbours first: a group is of one folder where it can be."""
    groups = []
    for source in sources:
        for group in [] if source.alone else groups:
            if (len(group) < MOST_FILES and sum(one.bytes for one in group) + source.bytes <= MOST_BYTES
                    and not any(one.alone or source.clashes(one) for one in group)):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def main():
    for line in sys.stdin:
        target, *paths = line.strip().split(';')
        # What is made by the build is not there yet, and stays alone.
        for number, group in enumerate(groups_of([Source(path) for path in paths if os.path.exists(path)])):
            if len(group) > 1:
                paths = ' '.join(f'"{source.path}"' for source in group)
                print(f'set_source_files_properties({paths} TARGET_DIRECTORY {target} PROPERTIES UNITY_GROUP {target}_{number})')


main()
