#!/bin/sh
# Find Java for the tests on Spark, or install it with the system's package manager where that is possible.
set -u
for name in "${JAVA_HOME:-}/bin/java" java; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing Java for the tests on Spark ..."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless >/dev/null && exit 0
fi
echo "No Java was found: tests on Spark will fail. Install it (Debian: apt-get install openjdk-17-jre-headless)," >&2
echo "or set JAVA_HOME to the folder of Java 17 or later." >&2
exit 0
