#!/usr/bin/env bash
# One release after another of the sample survey, from the first file to the last check, in fifteen steps.
#
#     bash sample_data/publish.sh DIRECTORY
#
# Everything is written into the new DIRECTORY. Copy what you need: each command states the exit code that it must end
# with (dpqr guide ci), and the script stops where one ends otherwise. It takes about a minute. Step 10 needs
# dpqr[report].
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir "${1:?name a new directory}"
cd "$1"
data=$here/survey.parquet
asks=(--by "R. Jones" --purpose "tables for the city plan")
forecast=(--n 24000 --runs 1)

step() { printf '\n== %s\n' "$*"; }

# expect CODE COMMAND ...: run it, and stop unless it ends with CODE.
expect() {
    local wanted=$1 got=0
    shift
    printf '\n$ %s\n' "$*"
    "$@" || got=$?
    printf 'exit code %s\n' "$got"
    [ "$got" = "$wanted" ] || { echo "expected exit code $wanted" >&2; exit 1; }
}

step "1 init: settings, documents, and a budget for life that pays for approved plans only"
expect 0 dpqr init "$data" --dataset survey
cat >> dpqr.toml <<'SETTINGS'
ledger = "budgets.sqlite"
delta = 1e-9
publisher = "City of X, Statistics Office"
SETTINGS
cp "$here/domain.json" "$here/queries.json" "$here/full_time.csv" .    # what a person fills in
expect 0 dpqr check
expect 0 dpqr budget init survey --eps 3 --delta 1e-6 --require-approval --by "data office"

step "2 rehearse: the whole run on rows of the public domain; nothing is opened or paid"
expect 0 dpqr release "$data" --eps 1 --out trial --rehearse

step "3 plan: what will be drawn at which price, its expected error, and the file to review"
expect 0 dpqr plan --eps 1 "${forecast[@]}" --out first.json

step "4 inverse: the smallest epsilon whose mean error is at most 50 records, in 19 of 20 releases"
expect 0 dpqr plan --error 50 --confidence 0.95 "${forecast[@]}" --top 5

step "5 approve: by somebody else than who asks, and of the plan as it was written"
expect 4 dpqr release "$data" --plan first.json --out first "${asks[@]}"
sed 's/"epsilon": "1"/"epsilon": "2"/' first.json > changed.json
expect 3 dpqr budget approve survey changed.json --by "M. Lee"
expect 0 dpqr budget approve survey first.json --by "M. Lee" --purpose "read the domain and the forecast"
expect 4 dpqr release "$data" --plan first.json --out first --by "m. lee"

step "6 release: follow the plan"
expect 0 dpqr release "$data" --plan first.json --out first --synthetic rows "${asks[@]}"

step "7 show: the receipt, and the answers of a query with their errors"
expect 0 dpqr show first
expect 0 dpqr show first --query "education by income"

step "8 certify: a second release, which buys proved bounds on its errors"
expect 0 dpqr plan --eps 2 --certify 0.05 --like first --runs 2 --top 5 --out second.json
expect 0 dpqr budget approve survey second.json --by "M. Lee" --purpose "bounds are needed"
expect 0 dpqr release "$data" --plan second.json --out second --synthetic rows "${asks[@]}"

step "9 verify: files, prices and figures, the plan that was reviewed, the ledger's entry"
expect 0 dpqr verify second --ledger budgets.sqlite --plan second.json
expect 6 dpqr verify second --ledger budgets.sqlite --plan first.json

step "10 report: a page for readers"
expect 0 dpqr report second --html report.html
expect 8 dpqr report second --html report.html

step "11 registry: a draft for the deployments registry"
expect 0 dpqr report second --registry record.yaml --title "Survey tables" --region "Germany" \
    --sector Government --about "Counts of a panel survey, by sex, age and income."

step "12 refused second release: its approval is used, its directory is there"
expect 4 dpqr release "$data" --plan first.json --out again "${asks[@]}"
expect 8 dpqr release "$data" --plan first.json --out first "${asks[@]}"
expect 4 dpqr plan --eps 3 "${forecast[@]}"    # more than what is left

step "13 resume after kill: what was drawn is kept, and nothing is paid twice"
expect 0 dpqr plan --eps 0.5 --like first --runs 2 --top 5 --out third.json
expect 0 dpqr budget approve survey third.json --by "M. Lee"
killed() {
    nice dpqr release "$data" --plan third.json --out third --progress none "${asks[@]}" &
    until [ "$(cat .third.transcript 2> .absent | wc -l)" -ge 5 ] || ! kill -0 $!; do sleep 0.05; done
    kill -9 $!
    wait $!
}
expect 137 killed
expect 2 dpqr release "$data" --plan third.json --out third "${asks[@]}"
expect 0 dpqr release "$data" --plan third.json --out third "${asks[@]}" --resume
expect 0 dpqr verify third --ledger budgets.sqlite --plan third.json

step "14 reprice: the same draws under the accountants of today"
expect 0 dpqr reprice first

step "15 compare: what was asked and spent, and how far the answers lie apart beside their errors"
expect 0 dpqr compare first second
expect 0 dpqr budget history survey
expect 0 dpqr budget verify
