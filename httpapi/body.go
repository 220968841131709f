package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kronicle/kronicle/kinds"
)

// bodyTime is how long a client may take to send a body.
const bodyTime = 30 * time.Second

// readBody reads the whole body, at most MaxObjectBytes.
func (q *request) readBody() ([]byte, error) {
	if q.r.Body == nil || q.r.Body == http.NoBody {
		return nil, nil
	}
	limit := q.s.cfg.MaxObjectBytes
	if q.r.ContentLength > limit {
		return nil, tooLarge("limit is " + strconv.FormatInt(limit, 10))
	}
	rc := http.NewResponseController(q.w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	size := q.r.ContentLength
	if size < 0 {
		size = 4 << 10
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := b.ReadFrom(http.MaxBytesReader(q.w, q.r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, badRequest("the body of the request ended too early")
	case err != nil:
		return nil, badRequest("reading the body of the request: %v", err)
	}
	if err := rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return b.Bytes(), nil
}

// contentType is the media type of the body without its parameters; a body without
// a type is JSON.
func (q *request) contentType() string {
	h := q.r.Header.Get("Content-Type")
	if h == "" || h == "application/json" {
		return "application/json"
	}
	t, _, err := mime.ParseMediaType(h)
	if err != nil {
		return h
	}
	return t
}

func unsupportedMedia(accepted string) error {
	return status(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+accepted)
}

// decode reads a body by its content type. strict are the findings that depend on
// fieldValidation: members that stand twice.
func (q *request) decode(body []byte) (obj map[string]any, strict []error, err error) {
	switch q.contentType() {
	case "application/json":
		obj, strict, err = kinds.DecodeJSON(body)
	case "application/yaml":
		obj, strict, err = kinds.DecodeYAML(body)
	case kinds.ProtobufType:
		if obj, err = q.kind.FromProtobuf(body); errors.Is(err, kinds.ErrNoProtobuf) {
			return nil, nil, unsupportedMedia(acceptedTypes)
		}
	default:
		return nil, nil, unsupportedMedia(acceptedTypes)
	}
	if err != nil {
		return nil, nil, q.unrecognized(err, body)
	}
	return obj, strict, nil
}

// unrecognized is the answer to a body that is not an object of any kind
// (apiserver/pkg/endpoints/handlers/rest.go transformDecodeError).
func (q *request) unrecognized(err error, body []byte) error {
	return badRequest("the object provided is unrecognized (must be of type %s): %v (%s)", q.kind.Kind, err, excerpt(body))
}

// excerpt is the beginning of a body for an error text.
func excerpt(body []byte) string {
	const limit = 30
	switch {
	case len(body) == 0:
		return "<empty>"
	case body[0] != '{' && !utf8.Valid(body):
		return strconv.QuoteToASCII(string(body[:min(len(body), limit)]))
	case len(body) > limit:
		return string(body[:limit]) + " ..."
	}
	return string(body)
}

// decodeObject reads a body that must be an object of the kind.
func (q *request) decodeObject(body []byte, fieldValidation string) (map[string]any, error) {
	obj, strict, err := q.decode(body)
	if err != nil {
		return nil, err
	}
	if err := q.checkKind(obj, body); err != nil {
		return nil, err
	}
	more, err := q.conform(obj)
	if err != nil {
		return nil, err
	}
	return obj, q.strictness(fieldValidation, append(strict, more...))
}

// checkKind holds the object's own type against the path. A built-in kind fills in
// what is missing, as its typed decoder does.
func (q *request) checkKind(obj map[string]any, body []byte) error {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	if q.kind.Custom && kind == "" {
		return q.unrecognized(errors.New("Object 'Kind' is missing in '"+excerpt(body)+"'"), body)
	}
	if q.kind.Custom && version == "" {
		return q.unrecognized(errors.New("Object 'apiVersion' is missing in '"+excerpt(body)+"'"), body)
	}
	if version != "" && version != q.kind.APIVersion {
		return badRequest("the API version in the data (%s) does not match the expected API version (%s)", version, q.kind.APIVersion)
	}
	if kind != "" && kind != q.kind.Kind {
		return badRequest("%s in version %q cannot be handled as a %s: the kind in the data is %q", kind, q.kind.Version, q.kind.Kind, kind)
	}
	obj["apiVersion"], obj["kind"] = q.kind.APIVersion, q.kind.Kind
	return nil
}

// conform drops what the kind's type does not have; what it returns besides an
// error is for fieldValidation.
func (q *request) conform(obj map[string]any) ([]error, error) {
	strict, err := q.kind.Conform(obj)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return strict, nil
}

// strictness acts on findings as the fieldValidation parameter says; Warn is what
// no parameter means.
func (q *request) strictness(fieldValidation string, findings []error) error {
	if len(findings) == 0 || fieldValidation == metav1.FieldValidationIgnore {
		return nil
	}
	if fieldValidation != metav1.FieldValidationStrict {
		for _, f := range findings {
			q.warn(f.Error())
		}
		return nil
	}
	texts := make([]string, len(findings))
	for i, f := range findings {
		texts[i] = f.Error()
	}
	return apierrors.NewBadRequest(q.kind.Kind + ` in version "` + q.kind.Version + `" cannot be handled as a ` + q.kind.Kind +
		": strict decoding error: " + strings.Join(texts, ", "))
}

// warn adds a Warning header, each text once (RFC 7234 section 5.5).
func (q *request) warn(text string) {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	value := `299 - "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	for _, have := range q.w.Header()["Warning"] {
		if have == value {
			return
		}
	}
	q.w.Header().Add("Warning", value)
}
