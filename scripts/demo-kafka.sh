#!/usr/bin/env bash
# A simulated detector whose events go to a Kafka broker on this machine, and what is in the topics then.
# Usage: scripts/demo-kafka.sh DETECTOR [further arguments of evforge demo]
set -euo pipefail
cd "$(dirname "$0")/.."
detector=$1
shift
evforge=./target/release/evforge
broker=127.0.0.1:${KAFKA_PORT:-9092}

scripts/install-packages.sh "for a Kafka broker" openjdk-17-jre-headless curl
scripts/kafka.sh fetch
scripts/kafka.sh start
trap 'scripts/kafka.sh stop' EXIT
echo "In another terminal:  $evforge kafka tail ${detector}_detector --brokers $broker"
# Ctrl-C ends the demonstration, and what follows is still to be shown.
trap : INT
"$evforge" demo --detector "$detector" \
    --set "outputs.kafka.brokers=$broker" --set "outputs.kafka.topic=${detector}_detector" --set outputs.kafka.create_topics=true "$@"
"$evforge" kafka topics --brokers "$broker"
