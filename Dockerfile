# Images of dial2vec (docs/container.md):
#   student   serves a student; no torch
#   serve     serves any model on the CPU
#   schedule  trains every night; MLflow's and Prefect's servers of compose.yaml run in it too
# The base is named by its tag, which gets Debian's fixes; --build-arg PYTHON=python@sha256:... fixes its bytes.
ARG PYTHON=python:3.11-slim-bookworm

# hadolint ignore=DL3006
FROM ${PYTHON} AS base
RUN useradd --uid 10001 --no-create-home --home-dir /tmp dial2vec \
    && mkdir /project && chown dial2vec /project
ENV PATH=/opt/dial2vec/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /project

FROM base AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_DEPS=1 \
    INSTALL="/build/venv/bin/python -m pip --python /opt/dial2vec/bin/python install --no-build-isolation" \
    TORCH="--extra-index-url https://download.pytorch.org/whl/cpu --requirement requirements.torch-cpu.lock"
WORKDIR /build
COPY container/build.lock container/build.lock
RUN python -m venv venv && venv/bin/python -m pip install --require-hashes --requirement container/build.lock
COPY . .
RUN venv/bin/python -m pip wheel --no-build-isolation --wheel-dir dist . && python -m venv --without-pip /opt/dial2vec

FROM build AS student-packages
RUN $INSTALL --require-hashes --requirement container/student.lock && $INSTALL dist/*.whl

FROM build AS serve-packages
RUN $INSTALL --require-hashes $TORCH && $INSTALL --require-hashes --requirement container/serve.lock \
    && $INSTALL dist/*.whl

FROM build AS schedule-packages
RUN $INSTALL --require-hashes $TORCH && $INSTALL --require-hashes --requirement container/schedule.lock \
    && $INSTALL dist/*.whl

# The schedule's folder is a project of its own, with git and DVC; compose.yaml mounts it.
FROM base AS schedule
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY --from=schedule-packages /opt/dial2vec /opt/dial2vec
USER 10001
ENTRYPOINT ["dial2vec"]
CMD ["schedule"]

# A server needs no files of a project but its settings, and a registry at MLFLOW_TRACKING_URI.
FROM base AS server
COPY params.yaml operation.yaml dvc.yaml ./
USER 10001
EXPOSE 5601
HEALTHCHECK --start-period=60s --interval=10s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:5601/readyz', timeout=4)"]
ENTRYPOINT ["dial2vec", "serve", "--host", "0.0.0.0", "--port", "5601"]

FROM server AS serve
COPY --from=serve-packages /opt/dial2vec /opt/dial2vec
CMD ["demo"]

FROM server AS student
COPY --from=student-packages /opt/dial2vec /opt/dial2vec
CMD ["demo-small"]
