#!/usr/bin/env bash
# A real Kafka broker, or three, on loopback: for tests, trials and demos. Never for data that matter.
#
#   scripts/kafka.sh fetch          the jars of Apache Kafka into the cache, once; each must have the sha256 of kafka-jars.txt.
#                                   With an archive of the classes that a broker loads, it starts in half the time
#   scripts/kafka.sh start [1|3]    start brokers at 127.0.0.1:9092 (three: 9092, 9093, 9094) and wait until they answer
#   scripts/kafka.sh status         which run, and where
#   scripts/kafka.sh stop           stop them cleanly; what was in their topics stays for the next start
#   scripts/kafka.sh clear          forget what was in their topics
#   scripts/kafka.sh tool CLASS …   a program of Kafka's own: org.apache.kafka.tools.ProducerPerformance …
#   scripts/kafka.sh check          say what is missing to run a broker, and fail if anything is
#   scripts/kafka.sh serve FOLDER NODE PORT VOTERS [KEY=VALUE …]
#                                   become one broker, for tests (crates/testkit): NODE is its number, VOTERS are all controllers
#                                   as NODE@HOST:PORT,…, and KEY=VALUE are further lines of its server.properties
#
# EVFORGE_KAFKA_CACHE   where the jars are (~/.cache/evforge/kafka)
# EVFORGE_KAFKA_DATA    where start keeps topics and logs (~/.cache/evforge/kafka-data)
# EVFORGE_KAFKA_HEAP    heap of each broker (256m; it takes about 320 MB with all else)
# KAFKA_PORT            port of the first broker (9092)
# EVFORGE_MAVEN         where jars are fetched from (https://repo1.maven.org/maven2)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=$here/kafka-jars.txt
cache=${EVFORGE_KAFKA_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/evforge/kafka}
data=${EVFORGE_KAFKA_DATA:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/evforge/kafka-data}
port=${KAFKA_PORT:-9092}
heap=${EVFORGE_KAFKA_HEAP:-256m}
maven=${EVFORGE_MAVEN:-https://repo1.maven.org/maven2}

fail() {
    echo "kafka.sh: $*" >&2
    exit 1
}

# sha256, file name and path below the repository of each jar.
jars() {
    awk '!/^#/ && NF == 2 { split($2, c, ":"); g = c[1]; gsub(/\./, "/", g); f = c[2] "-" c[3] ".jar"
        print $1, f, g "/" c[2] "/" c[3] "/" f }' "$list"
}

# What sha256sum checks.
sums() {
    jars | awk '{ print $1 "  " $2 }'
}

need_java() {
    command -v java >/dev/null || fail "there is no Java runtime (the command java). Debian: apt-get install openjdk-17-jre-headless"
}

# Content is checked when it is fetched; that all is there, each time.
need_jars() {
    local missing
    missing=$(jars | while read -r _ file _; do [ -s "$cache/$file" ] || echo "$file"; done)
    [ -z "$missing" ] || fail "the jars of Kafka are not in $cache ($(wc -l <<<"$missing") are missing, $(head -1 <<<"$missing") is the first): scripts/kafka.sh fetch"
}

fetch() {
    command -v curl >/dev/null || fail "the command curl is missing. Debian: apt-get install curl"
    mkdir -p "$cache"
    # Several at once (tests of two checkouts) take turns.
    exec 9>"$cache/.lock"
    flock 9
    if (cd "$cache" && sums | sha256sum --check --status 2>/dev/null); then
        archive_classes
        return
    fi
    echo "fetching Apache Kafka ($(sums | wc -l) jars, 54 MB) from $maven into $cache"
    local new=$cache/.new
    rm -rf "$new" && mkdir "$new"
    jars | while read -r _ file path; do
        [ -s "$cache/$file" ] || printf 'url = "%s/%s"\noutput = "%s/%s"\n' "$maven" "$path" "$new" "$file"
    done >"$new/.curl"
    # Another try for each failure, also for those that curl takes for final: proxies and mirrors have their moods.
    if [ -s "$new/.curl" ]; then
        curl --config "$new/.curl" --parallel --parallel-max 8 --fail --no-progress-meter --location \
            --connect-timeout 20 --retry 5 --retry-all-errors --retry-delay 1 ||
            fail "not everything could be fetched from $maven (EVFORGE_MAVEN names a mirror); what came is kept for the next try if it is right"
    fi
    local wrong=0 sum file
    while read -r sum file _; do
        if [ -s "$new/$file" ]; then
            if [ "$(sha256sum <"$new/$file")" = "$sum  -" ]; then
                mv "$new/$file" "$cache/$file"
            else
                echo "kafka.sh: $file is refused: its sha256 is $(sha256sum <"$new/$file" | cut -c1-64), and must be $sum" >&2
                wrong=1
            fi
        elif [ "$(sha256sum <"$cache/$file")" != "$sum  -" ]; then
            echo "kafka.sh: $cache/$file has changed: it is removed, and fetched by the next try" >&2
            rm -f "$cache/$file"
            wrong=1
        fi
    done < <(jars)
    rm -rf "$new"
    [ "$wrong" = 0 ] || fail "what Kafka consists of is pinned in $list"
    archive_classes
}

# The classes of a broker as this Java has them in memory once they are loaded and checked: java(1), -XX:SharedArchiveFile. One
# that does not fit is not used.
archive() {
    echo "$cache/classes-$(stat --dereference --format=%Y "$(command -v java)").jsa"
}

# Once, from a broker that is ended when it answers. Without it brokers start as well.
archive_classes() {
    command -v java >/dev/null && compgen -G "$cache/kafka_*.jar" >/dev/null && [ ! -s "$(archive)" ] || return 0
    local new=$cache/.new at=$((20000 + RANDOM % 10000)) broker
    rm -rf "$new" && mkdir "$new"
    JAVA_TOOL_OPTIONS="-XX:ArchiveClassesAtExit=$new/classes.jsa" \
        "${BASH_SOURCE[0]}" serve "$new" 1 "$at" "1@127.0.0.1:$((at + 1))" >"$new/log" 2>&1 9>&- &
    broker=$!
    until [ "$(known_brokers "$at")" = 1 ] || ! kill -0 "$broker" 2>/dev/null; do sleep 0.1; done
    kill "$broker" 2>/dev/null || true
    wait "$broker" || true
    [ ! -s "$new/classes.jsa" ] || mv "$new/classes.jsa" "$(archive)"
    rm -rf "$new"
}

random_id() {
    head -c 16 /dev/urandom | base64 | tr '+/' 'AA' | tr -d '='
}

serve() {
    [ $# -ge 4 ] || fail "serve FOLDER NODE PORT VOTERS [KEY=VALUE …]"
    local folder=$1 node=$2 at=$3 voters=$4
    shift 4
    need_java
    need_jars
    # The address of this node's controller, among those of all.
    local controller
    controller=$(tr ',' '\n' <<<"$voters" | sed -n "s/^$node@//p")
    [ -n "$controller" ] || fail "node $node is not among the voters $voters"
    local copies=1
    case $voters in *,*,*) copies=3 ;; esac
    mkdir -p "$folder/data"
    {
        cat <<PROPERTIES
process.roles=broker,controller
node.id=$node
controller.quorum.voters=$voters
listeners=PLAINTEXT://127.0.0.1:$at,CONTROLLER://$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$at
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
log.dirs=$folder/data
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=$copies
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=$copies
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=$copies
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
background.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.enable=false
PROPERTIES
        [ $# = 0 ] || printf '%s\n' "$@"
    } >"$folder/server.properties"
    # What kafka.tools.StorageTool format would write, without the seconds that a second Java takes.
    [ -s "$folder/data/meta.properties" ] ||
        printf 'version=1\ncluster.id=evforge-on-loopback-00\nnode.id=%s\ndirectory.id=%s\n' \
            "$node" "$(random_id)" >"$folder/data/meta.properties"
    cd "$folder"
    local shared=()
    [ ! -s "$(archive)" ] || shared=("-XX:SharedArchiveFile=$(archive)")
    exec java "${shared[@]}" -Xms64m -Xmx"$heap" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError -Xshare:auto \
        -Djava.awt.headless=true -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.showDateTime=true \
        -cp "$cache/*" kafka.Kafka "$folder/server.properties"
}

# How many brokers the one at this port knows: the answer to a request for metadata, in the oldest form that it takes.
known_brokers() {
    local answer
    answer=$(
        exec 2>/dev/null
        timeout 2 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"
            printf "\0\0\0\x12\0\x03\0\x01\0\0\0\x07\0\x04wait\0\0\0\0" >&3
            head -c 12 <&3 | od -An -tx1 | tr -d " \n"' "$1"
    ) || true
    # Length, 7 (the request's number), then how many.
    case $answer in ????????00000007*) echo "$((16#${answer:16:8}))" ;; *) echo 0 ;; esac
}

# The brokers that start has left behind: node and process.
running() {
    local file pid
    for file in "$data"/*/pid; do
        [ -s "$file" ] || continue
        pid=$(<"$file")
        # The number may belong to another process by now.
        if cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ' | grep -q "kafka.Kafka ${file%/pid}/server.properties"; then
            echo "$(basename "$(dirname "$file")") $pid"
        fi
    done
}

start() {
    local brokers=${1:-1}
    case $brokers in 1 | 3) ;; *) fail "start 1 or start 3, found $brokers" ;; esac
    need_java
    need_jars
    [ -z "$(running)" ] || fail "brokers run already: scripts/kafka.sh status, scripts/kafka.sh stop"
    # Data of one broker cannot be used by three, nor the other way round.
    if [ -s "$data/brokers" ] && [ "$(<"$data/brokers")" != "$brokers" ]; then
        fail "$data holds the topics of $(<"$data/brokers") broker(s), not of $brokers: scripts/kafka.sh clear, or start $(<"$data/brokers")"
    fi
    local node voters="" at
    for ((node = 1; node <= brokers; node++)); do
        for at in $((port + node - 1)) $((port + 1000 + node - 1)); do
            ! (exec 3<>"/dev/tcp/127.0.0.1/$at") 2>/dev/null ||
                fail "port $at is in use (KAFKA_PORT=19092 scripts/kafka.sh start takes others; ss -ltnp tells by whom)"
        done
        voters+=${voters:+,}$node@127.0.0.1:$((port + 1000 + node - 1))
    done
    mkdir -p "$data"
    echo "$brokers" >"$data/brokers"
    for ((node = 1; node <= brokers; node++)); do
        mkdir -p "$data/$node"
        local more=(auto.create.topics.enable=true "default.replication.factor=$brokers" "min.insync.replicas=$(((brokers + 1) / 2))")
        setsid "${BASH_SOURCE[0]}" serve "$data/$node" "$node" $((port + node - 1)) "$voters" "${more[@]}" \
            >"$data/$node/log" 2>&1 </dev/null &
        echo $! >"$data/$node/pid"
        disown
    done
    local deadline=$((SECONDS + 60)) ready
    while :; do
        ready=0
        for ((node = 1; node <= brokers; node++)); do
            [ "$(known_brokers $((port + node - 1)))" != "$brokers" ] || ready=$((ready + 1))
        done
        [ "$ready" != "$brokers" ] || break
        for ((node = 1; node <= brokers; node++)); do
            kill -0 "$(<"$data/$node/pid")" 2>/dev/null || {
                tail -20 "$data/$node/log" >&2
                stop >/dev/null
                fail "broker $node has ended; $data/$node/log says why"
            }
        done
        [ $SECONDS -lt $deadline ] || {
            stop >/dev/null
            fail "the brokers do not answer after a minute: $data/*/log"
        }
        sleep 0.2
    done
    status
}

status() {
    local found=0 node pid
    while read -r node pid; do
        local at
        at=$(sed -n 's/^advertised.listeners=PLAINTEXT:\/\///p' "$data/$node/server.properties")
        echo "broker $node at $at (process $pid, $(($(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") / 1024)) MB, log $data/$node/log)"
        found=1
    done < <(running)
    [ $found = 1 ] || {
        echo "no broker runs"
        return 3
    }
}

stop() {
    local all node pid deadline=$((SECONDS + 30))
    all=$(running)
    [ -n "$all" ] || {
        echo "no broker runs"
        return 0
    }
    # All at once: two that wait for a third would not end.
    while read -r node pid; do kill -TERM "$pid" 2>/dev/null || true; done <<<"$all"
    while [ -n "$(running)" ] && [ $SECONDS -lt $deadline ]; do sleep 0.1; done
    while read -r node pid; do
        [ -n "$pid" ] || continue
        echo "kafka.sh: broker $node does not end, and is killed" >&2
        kill -KILL "$pid" 2>/dev/null || true
    done < <(running)
    rm -f "$data"/*/pid
    echo "stopped"
}

clear_data() {
    [ -z "$(running)" ] || fail "brokers run: scripts/kafka.sh stop"
    # Only what start has made.
    [ -s "$data/brokers" ] || return 0
    rm -rf "$data"/[123] "$data/brokers"
}

tool() {
    need_java
    need_jars
    exec java -Xmx"$heap" -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$cache/*" "$@"
}

command=${1:-help}
shift || true
case $command in
    fetch) fetch ;;
    start) start "$@" ;;
    status) status ;;
    stop) stop ;;
    clear) clear_data ;;
    tool) tool "$@" ;;
    serve) serve "$@" ;;
    check) need_java && need_jars ;;
    *) sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" ;;
esac
