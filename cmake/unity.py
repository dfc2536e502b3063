"""Which sources may be compiled together: unity.py < TARGETS > GROUPS.cmake

A line of TARGETS is a target and its sources, split by semicolons; GROUPS.cmake tells CMake the group of each source.
What one file names for itself alone (in an anonymous namespace, by static, by #define) no other file of its group may name
at all, nor may a header that only the other one includes. So files need no names that are unique in their folder, and no
list says which may go together.
"""

import functools
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


def found_in(body, every):
    """Names at the level of a namespace: `every` one, or those in anonymous ones, and static ones elsewhere."""
    found = set()
    scopes = []   # 'named', 'anonymous', 'enum' or 'inside' for each brace that is open
    statement, parentheses = '', 0

    def counts(words, level):
        return every or level == 'anonymous' or re.search(r'\bstatic\b', words)

    def take(words, level):
        if not counts(words, level) or re.match(r'(TEST|TEST_F|TEST_P|INSTANTIATE\w*|BENCHMARK\w*)\b', words):
            return
        found.update(re.findall(r'([A-Za-z_]\w*)\s*(?=\()', words))
        found.update(DECLARED.findall(words.split('(')[0]), KINDS.findall(words))

    for piece in PIECE.findall(body):
        level = scopes[-1] if scopes else 'named'
        words = statement.strip()
        if piece == '{':
            kind = 'inside'
            if parentheses == 0 and level in ('named', 'anonymous'):
                if re.search(r'\bnamespace\s*$', words):
                    kind = 'anonymous'
                elif re.search(r'\bnamespace\b[\w\s:]*$', words):
                    kind = level
                elif words.startswith('extern'):
                    kind = level
                else:
                    take(words, level)
                    if re.match(r'enum\b(?!\s+(class|struct))', words) and counts(words, level):
                        kind = 'enum'
            scopes.append(kind)
            if parentheses == 0:
                statement = ''
        elif piece == '}':
            if level == 'enum':
                found.update(re.findall(r'[A-Za-z_]\w*', statement))
                statement = ''
            if scopes:
                scopes.pop()
        elif level == 'inside':
            continue
        elif piece == '(':
            if parentheses == 0:
                statement += '('
            parentheses += 1
        elif piece == ')':
            parentheses = max(0, parentheses - 1)
        elif piece == ';' and parentheses == 0 and level != 'enum':
            take(words, level)
            statement = ''
        elif parentheses == 0:
            statement += piece
    return found


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


@functools.cache
def told_by(header):
    """What a header of ours, and those that it includes, name at the level of a namespace: pairs of header and name."""
    path = os.path.join(ROOT, header)
    if not os.path.exists(path):
        return frozenset()
    text = read(path)
    names = found_in(DIRECTIVE.sub('', NOISE.sub('""', text)), True)
    return frozenset({(header, name) for name in names}.union(*map(told_by, INCLUDE.findall(text))))


class Source:
    def __init__(self, path):
        text = read(path)
        self.told = frozenset().union(*map(told_by, INCLUDE.findall(text)))
        text = NOISE.sub('""', text)
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
        self.own |= found_in(body, False)
        # What a whole namespace hears of: the same one twice does no harm, another of that name does.
        self.used = set(re.findall(r'^using\s+[\w:]*::(\w+)\s*;', body, re.M))

    def clashes(self, other):
        for one, two in ((self, other), (other, self)):
            told = {name for _, name in two.told - one.told}
            if not one.own.isdisjoint(two.names | told) or not one.used.isdisjoint(two.own | told):
                return True
        return False


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
