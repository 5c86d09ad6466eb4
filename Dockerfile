# Both hosts on a processor. Build and run the demo:
#   docker build -t long_context_tasks .
#   docker run --rm -v "$PWD/demo_output:/app/demo_output" long_context_tasks
# Other commands: docker run --rm -it long_context_tasks .venv/bin/lct tasks
FROM python:3.11-slim-bookworm

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app

# The processor build of torch, which is a tenth of the default one.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY . .
RUN make env TORCH_INDEX="$TORCH_INDEX"

CMD ["make", "demo"]
