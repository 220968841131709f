package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/yaml"

	"github.com/kronicle/kronicle/projections"
)

// gzipFrom is the size in bytes above which an answer is compressed for clients that
// accept it (apiserver/pkg/endpoints/handlers/responsewriters/writers.go).
const gzipFrom = 128 << 10

// stall is how long a client may take to accept the next piece of an answer.
const stall = 60 * time.Second

// apiVersionAt is where the value of apiVersion begins in the canonical encoding.
const apiVersionAt = len(`{"apiVersion":"`)

// served gives the bytes of an object in the version that was asked for. They are
// the stored ones unless the object was stored under another version of its kind, in
// which case only apiVersion differs (conversion strategy None).
func (q *request) served(data []byte) ([]byte, error) {
	head, rest, err := q.reversion(data)
	if err != nil || head == "" {
		return rest, err
	}
	return append([]byte(head), rest...), nil
}

// reversion splits an object into a head with the wanted apiVersion and the rest.
// A kind that is stored as another is converted.
func (q *request) reversion(data []byte) (head string, rest []byte, err error) {
	if q.kind.Converts() {
		rest, err = q.kind.ServedJSON(data)
		return "", rest, err
	}
	if q.current(data) {
		return "", data, nil
	}
	want := q.kind.APIVersion
	for i := apiVersionAt; i < len(data); i++ {
		if data[i] == '"' {
			return `{"apiVersion":"` + want, data[i:], nil
		}
	}
	return "", data, nil
}

// current tells whether an object is stored under the apiVersion asked for.
func (q *request) current(data []byte) bool {
	want := q.kind.APIVersion
	end := apiVersionAt + len(want)
	return len(data) > end && data[end] == '"' && string(data[apiVersionAt:end]) == want
}

// writeObject answers with one object of the kind in the representation asked for.
func (q *request) writeObject(code int, data []byte) error {
	body, err := q.represent(data)
	if err != nil {
		return err
	}
	return q.writeBody(code, body)
}

// represent puts the JSON of one object into the form that the client accepts, as
// JSON.
func (q *request) represent(data []byte) ([]byte, error) {
	data, err := q.served(data)
	if err != nil {
		return nil, err
	}
	switch q.out.as {
	case asTable:
		return q.tableOf([][]byte{data}, listMeta{version: gjson.GetBytes(data, "metadata.resourceVersion").String()})
	case asPartial:
		return partial(data, q.out.version), nil
	case asPartialList:
		return nil, q.notAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (" + q.kind.Kind + ")")
	}
	return data, nil
}

func (q *request) notAcceptable(why string) error {
	return status(http.StatusNotAcceptable, "NotAcceptable", why)
}

// partial is the object's metadata alone.
func partial(data []byte, version string) []byte {
	meta := gjson.GetBytes(data, "metadata").Raw
	b := make([]byte, 0, len(meta)+80)
	b = append(b, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`...)
	b = append(b, version...)
	b = append(b, `","metadata":`...)
	b = append(b, meta...)
	return append(b, '}')
}

// writeBody writes JSON as JSON or YAML.
func (q *request) writeBody(code int, body []byte) error {
	h := q.w.Header()
	q.code = code
	switch {
	case q.out.yaml:
		y, err := yaml.JSONToYAML(body)
		if err != nil {
			return err
		}
		body = y
		h["Content-Type"] = yamlType
	default:
		if q.out.pretty {
			body = indent(body)
		}
		h["Content-Type"] = jsonType
	}
	if len(body) > gzipFrom && acceptsGzip(q.r) {
		out := q.s.compressed(q.w, code)
		_, err := out.Write(body)
		return q.cut(err, out.Close())
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	q.w.WriteHeader(code)
	if q.r.Method == http.MethodHead {
		return nil
	}
	_, err := q.w.Write(body)
	return q.cut(err)
}

// cut notes that an answer could not be written to its end: the client has gone or
// does not read. There is nobody left to tell.
func (q *request) cut(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			q.s.metrics.aborted.Inc()
			return nil
		}
	}
	return nil
}

var (
	jsonType = []string{"application/json"}
	yamlType = []string{"application/yaml"}
)

func acceptsGzip(r *http.Request) bool {
	for _, v := range r.Header["Accept-Encoding"] {
		for enc := range strings.SplitSeq(v, ",") {
			name, q, _ := strings.Cut(strings.TrimSpace(enc), ";")
			if name == "gzip" && strings.ReplaceAll(q, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}

// gzips keeps compressors: one is 800 KiB. The level is the one Kubernetes uses
// (responsewriters/writers.go defaultGzipContentEncodingLevel is 1).
var gzips = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is a constant that exists
	return z
}}

type compressor struct{ *gzip.Writer }

func (c compressor) Close() error {
	err := c.Writer.Close()
	c.Writer.Reset(io.Discard)
	gzips.Put(c.Writer)
	return err
}

func (s *Server) compressed(w http.ResponseWriter, code int) compressor {
	h := w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	h.Del("Content-Length")
	w.WriteHeader(code)
	z := gzips.Get().(*gzip.Writer)
	z.Reset(w)
	return compressor{z}
}

// writeStored answers with an object of the projections.
func (q *request) writeStored(code int, o *projections.Object) error {
	return q.writeObject(code, o.JSON())
}

// writeJSON answers with a value of the meta API.
func (q *request) writeJSON(code int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return q.writeBody(code, body)
}
