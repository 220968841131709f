# The server in an image of its own: docker build -t kronicle .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /kronicle ./cmd/kronicle
# The directories of the volumes, owned by the user that the server runs as.
RUN mkdir -p /volumes/data /volumes/pki

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /kronicle /kronicle
COPY --from=build --chown=nonroot:nonroot /volumes/data /data
COPY --from=build --chown=nonroot:nonroot /volumes/pki /pki
ENV KRONICLE_DATA_DIR=/data KRONICLE_LISTEN=0.0.0.0:6443
VOLUME /data
EXPOSE 6443
ENTRYPOINT ["/kronicle"]
CMD ["serve"]
