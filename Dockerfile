# An image that contains nothing but the static binary, which runs as an unprivileged user.
#
#   make build && podman build -t prospector .
#   podman run --rm --name prospector -p 127.0.0.1:8080:8080 -v prospector-data:/data prospector
#   podman exec prospector /prospector org create --name "Acme Sales"
#
# The image contains no CA certificates. If the server sends webhooks, mail or questions to a model over TLS, mount
# them: -v /etc/ssl/certs:/etc/ssl/certs:ro
FROM scratch
COPY --chown=65532:65532 .ci/empty /data
COPY prospector /prospector
USER 65532:65532
ENV PROSPECTOR_ADDR=0.0.0.0:8080 PROSPECTOR_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/prospector"]
CMD ["serve"]
