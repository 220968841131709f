package httpapi

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// acceptedTypes is what an answer can be, and the text of a 406.
const acceptedTypes = "application/json, application/yaml"

// A transform is a form that an answer takes instead of the object itself.
type transform uint8

const (
	asObject transform = iota
	asTable
	asPartial     // PartialObjectMetadata
	asPartialList // PartialObjectMetadataList
)

// A representation is what a client accepts.
type representation struct {
	yaml    bool
	as      transform
	version string // of meta.k8s.io, for transforms
	pretty  bool
}

// negotiate reads the Accept header: clauses in order of their quality, an unusable
// one is skipped (apiserver/pkg/endpoints/handlers/negotiation/negotiate.go).
func negotiate(r *http.Request) (representation, error) {
	rep := representation{pretty: prettyAsked(r)}
	header := r.Header.Get("Accept")
	switch header {
	case "", "application/json", "*/*":
		return rep, nil
	}
	for _, c := range goautoneg.ParseAccept(header) {
		if c.Type != "*" && c.Type != "application" {
			continue
		}
		switch c.SubType {
		case "*", "json":
		case "yaml":
			rep.yaml = true
		default:
			continue
		}
		if rep.accept(c.Params) {
			return rep, nil
		}
		rep.yaml = false
	}
	return rep, status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+acceptedTypes)
}

// accept takes the parameters of a clause; false means that they cannot be met.
func (rep *representation) accept(params map[string]string) bool {
	as, converts := params["as"]
	if p, ok := params["pretty"]; ok {
		rep.pretty = p == "1"
	}
	if s := params["stream"]; s != "" && s != "watch" {
		return false
	}
	if params["sv"] != "" {
		return false
	}
	if !converts {
		rep.as = asObject
		return params["g"] == "" && params["v"] == ""
	}
	if v := params["v"]; params["g"] != metav1.GroupName || v != "v1" && v != "v1beta1" {
		return false
	}
	rep.version = params["v"]
	switch as {
	case "Table":
		rep.as = asTable
	case "PartialObjectMetadata":
		rep.as = asPartial
	case "PartialObjectMetadataList":
		rep.as = asPartialList
	default:
		return false
	}
	return true
}

// prettyAsked tells whether JSON is to be indented: by the parameter, else for the
// clients that people read from.
func prettyAsked(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if p := r.URL.Query().Get("pretty"); p != "" {
			b, _ := strconv.ParseBool(p) // anything else is no, as in Kubernetes
			return b
		}
	}
	ua := r.UserAgent()
	return strings.HasPrefix(ua, "curl") || strings.HasPrefix(ua, "Wget") || strings.HasPrefix(ua, "Mozilla/5.0")
}

func indent(body []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return body
	}
	return b.Bytes()
}

// setCommonHeaders sets what every answer carries. The Audit-Id is the client's, if
// it sent one that fits a header of ours.
func setCommonHeaders(h http.Header, r *http.Request) {
	id := r.Header.Get("Audit-Id")
	if id == "" || len(id) > 64 {
		id = newUUID()
		r.Header.Set("Audit-Id", id)
	}
	h["Audit-Id"] = []string{id}
	h["Cache-Control"] = noCache
}

// noCache is shared by all answers and never changed.
var noCache = []string{"no-cache, private"}

// newUUID is a version 4 UUID. Its randomness tells objects and requests apart and
// guards nothing; the generator of math/rand/v2 is seeded by the operating system.
func newUUID() string {
	const hex = "0123456789abcdef"
	hi, lo := rand.Uint64(), rand.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0xc<<60) | 0x8<<60
	var b [36]byte
	for i, j := 0, 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			b[i] = '-'
			continue
		}
		if j < 16 {
			b[i] = hex[hi>>(60-4*j)&15]
		} else {
			b[i] = hex[lo>>(60-4*(j-16))&15]
		}
		j++
	}
	return string(b[:])
}
