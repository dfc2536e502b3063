# config/profd.yaml, whose comments say what every key means, as profd.yaml(5).
function text(line) {
  gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line); gsub(/'/, "\\(aq", line); gsub(/…/, "...", line)
  return line
}
BEGIN {
  print ".TH PROFD.YAML 5 \"\" \"profd " version "\"\n.SH NAME\nprofd.yaml \\- settings of profd(8)\n.SH DESCRIPTION"
  print "YAML. Read when profd starts and at SIGHUP; profd \\-\\-check\\-config checks it and prints it whole. Keys with their defaults:"
}
/^ *#/ { sub(/^ *# ?/, ""); said = said text($0) "\n"; next }
/^[a-z_]+:$/ { sub(/:.*/, ""); print ".SS " $0; group = $0 "."; if (said) printf "%s", said; said = ""; next }
/^ *[a-z_]+:/ {
  if (/^[a-z]/) group = ""
  sub(/^ */, ""); key = $0; sub(/:.*/, "", key); value = $0; sub(/[^:]*: */, "", value)
  print ".TP\n\\fB" group key "\\fR: " text(value)
  printf "%s", said; said = ""; next
}
/^$/ && said { print ".PP"; printf "%s", said; said = "" }
END { print ".SH SEE ALSO\nprofd(8), profctl(1)" }
