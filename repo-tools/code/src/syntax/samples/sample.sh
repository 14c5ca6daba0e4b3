#!/usr/bin/env bash
source ./lib.sh
. "$DIR/other.sh"
LIMIT=3
export NAME=x
readonly ONE=1

# Refills.
refill() {
    local by=$1
    check "$by" | sort
    helper $(inner "$by")
}
function run { refill 1; }
