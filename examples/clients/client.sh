#!/bin/sh
# Ten trials from a shell, by curl 7.55 and jq: sh client.sh http://127.0.0.1:8765/v1 token
#   beside: bostruct serve --study examples/clients/study.json --port 8765 --token-file token
set -eu
for tool in curl jq; do
    command -v "$tool" > /dev/null || { echo "client.sh needs $tool" >&2; exit 69; }
done
url=$1 token=$(cat "$2")

request() {  # the token goes in by a pipe: other users see the arguments of a process
    printf 'Authorization: Bearer %s\n' "$token" | curl -sS -H @- -d "$1" "$url" > answer.json
    jq -e .ok answer.json > /dev/null || { jq -r .error.message answer.json >&2; exit 1; }
}

for _ in 1 2 3 4 5 6 7 8 9 10; do
    request '{"request": "ask", "lease": 60}'
    number=$(jq '.trials[0].number' answer.json)
    started=$(jq '.trials[0].started' answer.json)  # sent back with the value: it says whose value this is
    value=$(jq '.trials[0].point | (.x - 0.3) * (.x - 0.3) + (if .mode == "exact" then 0 else 1 end)' answer.json)
    request "{\"request\": \"tell\", \"trial\": $number, \"started\": $started, \"value\": $value}"
done
request '{"request": "best"}'
cat answer.json
