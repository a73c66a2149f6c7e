#!/bin/sh
# Creates the secrets that compose.cluster.yaml mounts, in deploy/secrets. Existing files are kept.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
# Each container reads its secrets as a different user, so the files are readable and the folder is not.
chmod 700 secrets
umask 022

keep() {
  [ -s "secrets/$1" ] || cat > "secrets/$1"
}

openssl rand -base64 32 | keep master_key
openssl rand -hex 24 | keep postgres_password
openssl rand -hex 24 | keep mqtt_password
printf 'postgres://tocsin:%s@postgres:5432/tocsin\n' "$(cat secrets/postgres_password)" | keep database_url
