#!/bin/sh
# Starts Mosquitto with the gateway's password from the secret; the passwords of devices are kept.
set -eu
umask 077
passwords=/mosquitto/data/passwords

touch "$passwords"
printf 'tocsin:%s\n' "$(cat /run/secrets/mqtt_password)" > "$passwords.new"
mosquitto_passwd -U "$passwords.new"
# grep exits with 1 if there are none.
grep -v '^tocsin:' "$passwords" >> "$passwords.new" || true
mv "$passwords.new" "$passwords"

exec mosquitto -c /mosquitto/config/mosquitto.conf
