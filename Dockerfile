# The production image contains one static program and no other files: no shell, no
# libraries. ClickHouse and Redis are servers elsewhere.
#
#   docker build --build-arg VERSION=1.4.0 --build-arg COMMIT=$(git rev-parse HEAD) -t pnyx:1.4.0 .
#   docker build --target edge -t pnyx-edge:1.4.0 .   # with nginx, for pnyx edge
#   docker build --target dev -t pnyx-dev:1.4.0 .     # with the embedded ClickHouse, to try things

FROM golang:1.26-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
ARG COMMIT=unknown
ARG BUILT=

FROM source AS static
RUN make static VERSION="$VERSION" COMMIT="$COMMIT" BUILT="$BUILT" && mkdir /data

# The embedded ClickHouse is a package of npm.
FROM source AS engine
RUN apt-get update && apt-get install -y --no-install-recommends npm && mkdir /data
RUN make build VERSION="$VERSION" COMMIT="$COMMIT" BUILT="$BUILT" \
    && library="$(bin/pnyx engine | sed 's/^engine: //')" \
    && install -D -m 644 "$library" /engine/libchdb.so

# nginx writes below PNYX_EDGE_DIR only.
FROM debian:bookworm-slim@sha256:63a496b5d3b99214b39f5ed70eb71a61e590a77979c79cbee4faf991f8c0783e AS edge
RUN apt-get update \
    && apt-get install -y --no-install-recommends nginx libnginx-mod-http-lua ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY --from=static /src/bin/pnyx-static /pnyx
ENV PNYX_EDGE_LISTEN=:8000 PNYX_EDGE_ADMIN_LISTEN=:8001 PNYX_EDGE_DIR=/cache PNYX_LOG_FORMAT=json
USER 65532:65532
EXPOSE 8000 8001
ENTRYPOINT ["/pnyx"]
CMD ["edge"]

# Only the embedded ClickHouse needs the C library.
FROM gcr.io/distroless/base-debian12:nonroot@sha256:7f0c72cd138b442ae0deeb69c08b1acf5525439ba251a49ad93c320a061567e5 AS dev
COPY --from=engine /src/bin/pnyx /pnyx
COPY --from=engine /engine/libchdb.so /engine/libchdb.so
COPY --from=engine --chown=65532:65532 /data /data
ENV PNYX_ENGINE_LIB=/engine/libchdb.so PNYX_DATA=/data PNYX_LISTEN=:8080 PNYX_ADMIN_LISTEN=:8081
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/pnyx"]
CMD ["serve", "--demo"]

FROM scratch
COPY --from=static /src/bin/pnyx-static /pnyx
# A volume mounted here, for rejected records of imports, belongs to the user below.
COPY --from=static --chown=65532:65532 /data /data
ENV PNYX_LISTEN=:8080 PNYX_ADMIN_LISTEN=:8081 PNYX_LOG_FORMAT=json
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/pnyx"]
CMD ["api"]
