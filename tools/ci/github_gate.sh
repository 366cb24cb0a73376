#!/usr/bin/env bash
# What action.yml runs: the gate with annotations, SARIF, a report, and the outputs of the step.
set -uo pipefail
arguments=(gate "$RUN" --profile "${PROFILE:-default}")
for benchmark in ${BENCHMARK:-}; do arguments+=(--benchmark "$benchmark"); done
[ -z "${WAIVERS:-}" ] || arguments+=(--waivers "$WAIVERS")
[ -z "${BASELINE:-}" ] || arguments+=(--baseline "$BASELINE")
[ "${ALLOW_UNCHECKED:-false}" != true ] || arguments+=(--allow-unchecked)
decision_file=$(mktemp)
diagnose "${arguments[@]}" --format github --format sarif --output "${SARIF:-traindoctor.sarif}" \
  --format markdown --output "${REPORT:-traindoctor.md}" --format json --output "$decision_file"
code=$?
if [ -s "$decision_file" ]; then
  python3 - "$decision_file" >>"${GITHUB_OUTPUT:-/dev/null}" <<'PY'
import json
import sys

found = json.load(open(sys.argv[1]))
causes = [f["rule"] for f in found["findings"] if "." in f["rule"] and f["outcome"] == "fail"]
print(f"decision={found['decision']}")
print(f"top-cause={causes[0] if causes else ''}")
PY
fi
rm -f "$decision_file"
exit "$code"
