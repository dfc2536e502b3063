# Files of the page as a source file. OUT; FILES: markup, style, script.
file(WRITE ${OUT} "#include \"client/ui/page.h\"\n\nnamespace profd::ui::page {\n\n")
foreach(name kMarkup kStyle kScript)
  list(POP_FRONT FILES file)
  file(READ ${file} text)
  file(APPEND ${OUT} "const std::string_view ${name} = R\"PAGE(${text})PAGE\";\n")
endforeach()
file(APPEND ${OUT} "\n}  // namespace profd::ui::page\n")
