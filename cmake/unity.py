"""Which sources are compiled together: unity.py FOLDER < TARGETS > GROUPS.cmake

A line of TARGETS is a target and its sources, split by semicolons. FOLDER gets a source for each group, which includes
those of the group; GROUPS.cmake gives the targets these in their place. CMake's own UNITY_BUILD names files by their
whole paths, so that no two checkouts share what ccache keeps; these name them from the root.
What one file names for itself alone (in an anonymous namespace, by static, by #define) no other file of its group may
name at all, nor may a header that only the other one includes. Where a name is plainly the file's own wherever it
stands there (Run, kMost; not in a header, not behind a point), it gets the file's name added for the compiler:
Run_start. So files need no names that are unique in their folder, and no list says which may go together.
"""

import functools
import os
import re
import sys

MOST_FILES = 14
MOST_BYTES = 130_000  # so that two at once fit a small machine's memory, and one core does not end alone

NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<end>[^()\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.S)
DEFINE = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\\n|[^\n])*', re.M)
DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
TOKEN = re.compile(r'(?<![\w.])(?:(->|\.|::)\s*)?\b([A-Za-z_]\w*)')
MEMBER = re.compile(r'(?:->|\.|::)\s*([A-Za-z_]\w*)')
PIECE = re.compile(r'[{}();]|[^{}();]+')
ARGUMENTS = re.compile(r'<[^<>;]*>')
# Names for what has one already: as often as one likes, while it is the same.
ANOTHER_NAME = re.compile(
    r'^(?:using\s+(?P<used>[\w:]*::(?P<last>\w+))|namespace\s+(?P<name>\w+)\s*=\s*(?P<of>[\w:]+))\s*(?:;|\Z)', re.M)
NO_NAME = re.compile(r'static_assert|operator|bool|u?int\d*(_t)?')
CALLED = re.compile(r'(?<![\w.:])([A-Za-z_]\w*)\s*(?=\()')
DECLARED = re.compile(r'(?<![\w.:])([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=[=,]|$)')
KINDS = re.compile(r'\b(?:struct|class|union|enum|concept|using)\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*)')
DEFINES_KIND = re.compile(r'(?:template\s*)?(?:struct|class|union|enum)\b[^=(]*$')


def found_in(body):
    """Names at the level of a namespace, as two sets: the file's own (those in anonymous namespaces, and static ones
    elsewhere), and those for all."""
    own, for_all = set(), set()
    scopes = []   # for each brace that is open: 'named', 'anonymous', 'inside', or the names that an enum's go to
    statement, parentheses = '', 0

    def whose(words, level):
        return own if level == 'anonymous' or re.search(r'\bstatic\b', words) else for_all

    def take(words, level):
        if re.match(r'(TEST|TEST_F|TEST_P|INSTANTIATE\w*|BENCHMARK\w*)\b', words) or ANOTHER_NAME.match(words):
            return
        found = whose(words, level)
        while ARGUMENTS.search(words):
            words = ARGUMENTS.sub('', words)
        found.update(KINDS.findall(words))
        if not DEFINES_KIND.match(words):
            found.update(CALLED.findall(words), DECLARED.findall(re.sub('=[^,]*', '=', words.split('(')[0])))

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
                    if re.match(r'enum\b(?!\s+(class|struct))', words):
                        kind = whose(words, level)
            scopes.append(kind)
            if parentheses == 0:
                statement = ''
        elif piece == '}':
            if isinstance(level, set):
                level.update(re.findall(r'[A-Za-z_]\w*', statement))
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
        elif piece == ';' and parentheses == 0 and not isinstance(level, set):
            take(words, level)
            statement = ''
        elif parentheses == 0:
            statement += piece
    return tuple({name for name in found if not NO_NAME.fullmatch(name)} for found in (own, for_all))


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def other_names(body):
    """Pairs of what is named once more and that name."""
    return {(match['used'] or match['of'], match['last'] or match['name']) for match in ANOTHER_NAME.finditer(body)}


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def from_root(header, folder):
    """Where a header of ours is that a file of `folder` includes by this name."""
    beside = os.path.relpath(os.path.join(folder, header), ROOT)
    return beside if os.path.exists(os.path.join(ROOT, beside)) else header


@functools.cache
def told_by(header):
    """What a header of ours, and those that it includes, name at the level of a namespace: pairs of header and name, or
    of what is named once more and that name."""
    path = os.path.join(ROOT, header)
    if not os.path.exists(path):
        return frozenset()
    text = read(path)
    body = DIRECTIVE.sub('', NOISE.sub('""', text))
    names = {(header, name) for name in set().union(*found_in(body))} | other_names(body)
    return frozenset(names.union(*(told_by(from_root(one, os.path.dirname(path))) for one in INCLUDE.findall(text))))


def includes_of(text, folder):
    """The lines that include something whatever the machine; headers of ours from the root."""
    found, depth = [], 0
    for line in re.findall(r'^[ \t]*#[ \t]*((?:include|if|endif)[^\n]*)', text, re.M):
        depth += line.startswith('if') - line.startswith('endif')
        if line.startswith('include') and depth == 0:
            found.append('#' + re.sub('"(.*)"', lambda name: f'"{from_root(name[1], folder)}"', line))
    return found


class Source:
    def __init__(self, path):
        text = read(path)
        folder = os.path.dirname(path)
        self.includes = includes_of(text, folder)
        self.told = frozenset().union(*(told_by(from_root(one, folder)) for one in INCLUDE.findall(text)))
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
        own, for_all = found_in(body)
        own -= self.own
        self.own |= own
        of_others = set(MEMBER.findall(body)) | for_all | {name for _, name in self.told}
        self.plain = {name for name in own - of_others if re.match(r'k?[A-Z]\w*[a-z]', name)}
        self.used = other_names(body)

    def clashing(self, other):
        """Of this one's names, those that the other cannot stand."""
        told = {name for _, name in other.told - self.told - self.used}
        used = {name for _, name in self.used}
        others = {name for _, name in other.used - self.used} | other.own - other.plain | told
        return self.own & (other.names | told) | used & others

    def clashes(self, other):
        return bool(self.clashing(other) - self.plain or other.clashing(self) - other.plain)


def together(group):
    """The text of a source that includes those of the group."""
    lines = list(dict.fromkeys(line for source in group for line in source.includes))
    for number, source in enumerate(group):
        stem = re.sub(r'\W', '_', os.path.basename(source.path).removesuffix('.cc'))
        others = [other for other in group if other is not source]
        renamed = sorted(source.plain & set().union(*(source.clashing(other) for other in others)))
        lines += [f'#define {name} {name}_{stem}{number}' for name in renamed]
        lines.append(f'#include "{os.path.relpath(source.path, ROOT)}"')
        lines += [f'#undef {name}' for name in renamed]
    return '\n'.join(lines) + '\n'


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


def write(path, text):
    """Nothing is compiled again for a file that is as it was."""
    if not os.path.exists(path) or read(path) != text:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    written = set()
    for line in sys.stdin:
        target, *paths = line.strip().split(';')
        # What is made by the build is not there at first, and stays alone.
        by_hand = [path for path in paths if not path.startswith(os.path.dirname(folder) + '/')]
        for number, group in enumerate(groups_of([Source(path) for path in by_hand])):
            if len(group) > 1:
                made = os.path.join(folder, f'{target}_{number}.cc')
                write(made, together(group))
                written.add(made)
                paths = ' '.join(f'"{source.path}"' for source in group)
                print(f'set_source_files_properties({paths} TARGET_DIRECTORY {target} PROPERTIES HEADER_FILE_ONLY ON)')
                print(f'target_sources({target} PRIVATE "{made}")')
    for name in os.listdir(folder):
        if os.path.join(folder, name) not in written:
            os.remove(os.path.join(folder, name))


main(sys.argv[1])
