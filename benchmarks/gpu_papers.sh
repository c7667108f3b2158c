#!/usr/bin/env bash
# The papers' whole trainings, which a GPU does in minutes and a CPU in days. Run it in a project whose params.yaml has
# the corpora; it needs neither DVC nor MLflow nor Prefect:
#
#     CORPUS=sgd JOINT=sgd+woz+camrest676+gsim+taskmaster4 INTENTS=intents.zip benchmarks/gpu_papers.sh
#
# - weak start: dial2vec as its paper trains it, from a start that knows words but no sentences, with three seeds;
# - joint: DSE on the pairs of several corpora, with its own batch and epochs;
# - rows: the other papers' methods from the same start.
#
# Each step writes its result when it is done, to OUTPUT or to the tables in OUTPUT/tables, and is not run again; a step
# that fails is said at the end and does not stop the others. Variables with their defaults:
set -uo pipefail
CORPUS=${CORPUS:-sgd}                # corpus of the weak starts and of the rows
JOINT=${JOINT:-}                     # joint corpus of DSE; empty takes CORPUS
INTENTS=${INTENTS:-}                 # folder or zip of the intent sets; without it their tasks are left out
BASE=${BASE:-all-MiniLM-L6-v2}       # encoder of which half the layers forget
SEEDS=${SEEDS:-1 2 3}                # of the weak starts; the rows begin with the first
DIALOGUES=${DIALOGUES:-all}          # training dialogues of dial2vec
EPOCHS=${EPOCHS:-0}                  # of dial2vec; 0 is the published script's number
MLM=${MLM:---mlm-epochs 1}           # masked words of the weak start
BATCH=${BATCH:-20}                   # dialogues read at once, of the 20 of a step
ROWS=${ROWS:-dialaug_paper dialoguecse_paper intent_augmentation_whole}
SHOTS=${SHOTS:-5}
DRAWS=${DRAWS:-2}
LIMIT=${LIMIT:-1000}                 # queries of the tasks
DEVICE=${DEVICE:-}                   # cpu, cuda or cuda:1; empty takes a GPU if there is one
OUTPUT=${OUTPUT:-artifacts/gpu_papers}
PYTHON=${PYTHON:-python3}

here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH="$here/src${PYTHONPATH:+:$PYTHONPATH}"
device=(${DEVICE:+--device "$DEVICE"})
tasks=response_selection,robustness,single_utterances
[ -z "$INTENTS" ] || tasks=intents,out_of_scope,$tasks,fine_tuning
failed=()
mkdir -p "$OUTPUT"

step() {  # NAME COMMAND...: run a command unless it is done
    local name=$1 began=$SECONDS
    shift
    if [ -e "$OUTPUT/$name.done" ]; then
        echo "$name: done before"
    elif "$@" >"$OUTPUT/$name.log" 2>&1; then
        echo "$((SECONDS - began)) seconds" >"$OUTPUT/$name.done"
        echo "$name: $((SECONDS - began)) s"
    else
        failed+=("$name")
        echo "$name: failed, see $OUTPUT/$name.log: $(tail -n 1 "$OUTPUT/$name.log")"
    fi
}

weak_start() {  # NAME SEED OPTIONS...
    step "$1" "$PYTHON" "$here/benchmarks/studies/weak_start.py" run "$CORPUS" --seeds "$2" --base "$BASE" $MLM \
        --batch "$BATCH" --results "$OUTPUT/weak_start.jsonl" "${device[@]}" "${@:3}"
}

row() {  # NAME CORPUS SYSTEM...: rows of the tables from the first weak start, on the tasks
    local name=$1 corpus=$2 system systems=()
    shift 2
    for system in "$@"; do systems+=(--system "$system"); done
    step "$name" "$PYTHON" -m dial2vec papers tables --no-track --corpus "$corpus" "${systems[@]}" --encoder "$start" \
        --seed "${SEEDS%% *}" --tasks "$tasks" ${INTENTS:+--intents "$INTENTS"} --shot "$SHOTS" --draws "$DRAWS" \
        --limit "$LIMIT" --output "$OUTPUT/tables" --cells "$OUTPUT/cells.jsonl" "${device[@]}"
}

step "splits" "$PYTHON" -m dial2vec papers tables --no-track --corpus "$CORPUS" --system tfidf_svd --seed 1 \
    --output "$OUTPUT/tables" "${device[@]}"
for seed in $SEEDS; do
    weak_start "weak-$seed" "$seed" --dialogues "$DIALOGUES" --epochs "$EPOCHS"
done
start=$(echo "$PWD/artifacts/weak_start/$CORPUS-${SEEDS%% *}"-*/start)
row "joint" "${JOINT:-$CORPUS}" start dse_paper
for system in $ROWS; do
    row "$system" "$CORPUS" "$system"
done
weak_start "weak-rate" "${SEEDS%% *}" --dialogues "$DIALOGUES" --epochs 1 --rate 1e-4
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}. Run the same command again, which continues there."
    exit 1
fi
