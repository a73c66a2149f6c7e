#!/bin/sh
# Starts Mosquitto with the password of the gateway as the secret has it, and those of the devices as they were.
set -eu
umask 077
passwords=/mosquitto/data/passwords

touch "$passwords"
printf 'tocsin:%s\n' "$(cat /run/secrets/mqtt_password)" > "$passwords.new"
mosquitto_passwd -U "$passwords.new"
# Ends with 1 where there are none.
grep -v '^tocsin:' "$passwords" >> "$passwords.new" || true
mv "$passwords.new" "$passwords"

exec mosquitto -c /mosquitto/config/mosquitto.conf
