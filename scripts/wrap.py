#!/usr/bin/env python3
"""Brings paragraphs of Markdown pages that have a line of more than 120 columns to 118; all else stays as it is.

    scripts/wrap.py docs/*.md
"""
import pathlib
import re
import sys

MOST, COLUMNS = 120, 118


def flow(text, first, rest):
    lines, line, is_begun = [], first, False
    for word in text.split():
        longer = f"{line} {word}" if is_begun else line + word
        if is_begun and len(longer) > COLUMNS:
            lines.append(line)
            longer = rest + word
        line, is_begun = longer, True
    return [*lines, line]


def wrapped(source):
    out, paragraph, fenced, in_list, before = [], None, False, False, ""

    def end():
        nonlocal paragraph
        if paragraph:
            lines, first, rest = paragraph
            fits = all(len(line) <= MOST for line in lines)
            out.extend(lines if fits else flow(" ".join([lines[0][len(first):], *lines[1:]]), first, rest))
        paragraph = None

    for line in source.split("\n"):
        item = re.match(r"^( {0,3}(?:[-*]|\d+\.) )(.*)$", line)
        if line.startswith("```"):
            end()
            fenced = not fenced
            out.append(line)
        elif fenced or not line.strip() or line[0] in "#<" or line.lstrip()[0] == "|":
            end()
            in_list &= not line.strip()
            out.append(line)
        elif item:
            end()
            in_list = True
            paragraph = ([line], item.group(1), " " * len(item.group(1)))
        elif paragraph:
            paragraph[0].append(line)
        elif line.startswith("    ") and (not in_list or not before or out[-1].startswith("    ")):
            out.append(line)
        else:
            indent = line[:len(line) - len(line.lstrip())]
            in_list &= bool(indent)
            paragraph = ([line], indent, indent)
        before = line.strip()
    end()
    return "\n".join(out)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = pathlib.Path(name)
        page.write_text(wrapped(page.read_text()))
