#!/usr/bin/env bash
# Signs the zones of `unsigned/` into `signed/` and `rootsigned/`, once and for all: what it makes is in the tree, so
# that no test waits for it or depends on a signer. Run it after a change to `unsigned/`; every signature changes.
#
# Needs dnssec-keygen and dnssec-signzone (bind9-utils). The keys are made anew and thrown away.
set -euo pipefail
cd "$(dirname "$0")"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sign() { # SET APEX OPTIONS...
    local set=$1 apex=$2 file=${2%.}
    shift 2
    dnssec-keygen -q -K "$scratch" -a ECDSAP256SHA256 -f KSK -n ZONE "$apex" >"$scratch/name"
    mkdir -p "$set"
    # The times fit RRSIG's 32 bits whatever the arithmetic; nothing here asks for the time of day.
    dnssec-signzone -q -S -z -K "$scratch" -d "$scratch" -o "$apex" -O full -s 20200101000000 -e 20380101000000 \
        "$@" -f "$set/${file:-root}.zone" "unsigned/${file:-root}.zone" >"$scratch/said" 2>&1 ||
        { cat "$scratch/said" >&2; exit 1; }
    sed -i '/^;/d' "$set/${file:-root}.zone"
}

for apex in nsec.test child.nsec.test single.test apexwild.test; do sign signed "$apex."; done
for apex in nsec3.test child.nsec3.test single3.test apexwild3.test; do sign signed "$apex." -3 -; done
for apex in optout.test child.optout.test; do sign signed "$apex." -3 - -A; done
sign signed salted.test. -3 AABBCCDD -H 5
sign rootsigned .
sign rootsigned arpa. -3 - -A
