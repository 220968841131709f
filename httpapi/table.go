package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kronicle/kronicle/projections"
)

// columnDefinitions is the heading of a Table of the kind.
func (q *request) columnDefinitions() ([]byte, error) {
	defs := make([]metav1.TableColumnDefinition, len(q.kind.Columns))
	for i, c := range q.kind.Columns {
		defs[i] = metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description, Priority: c.Priority}
	}
	return json.Marshal(defs)
}

// includeObject is what a Table row carries of its object.
func (q *request) includeObject() (metav1.IncludeObjectPolicy, error) {
	switch p := metav1.IncludeObjectPolicy(q.query.Get("includeObject")); p {
	case "":
		return metav1.IncludeMetadata, nil
	case metav1.IncludeMetadata, metav1.IncludeObject, metav1.IncludeNone:
		return p, nil
	default:
		return "", badRequest("Unable to convert to Table as requested: unrecognized includeObject value: %q", p)
	}
}

// appendRow adds the Table row of one object.
func (q *request) appendRow(b []byte, data []byte, include metav1.IncludeObjectPolicy) ([]byte, error) {
	cells, err := q.kind.Cells(data, q.s.now())
	if err != nil {
		return b, err
	}
	var c bytes.Buffer
	enc := json.NewEncoder(&c)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(cells); err != nil {
		return b, err
	}
	b = append(append(b, `{"cells":`...), bytes.TrimSuffix(c.Bytes(), []byte("\n"))...)
	return append(q.appendRowObject(b, data, include), '}'), nil
}

func (q *request) appendRowObject(b []byte, data []byte, include metav1.IncludeObjectPolicy) []byte {
	b = append(b, `,"object":`...)
	switch include {
	case metav1.IncludeNone:
		return append(b, "null"...)
	case metav1.IncludeObject:
		return append(b, data...)
	}
	return append(b, partial(data, q.out.version)...)
}

// openTable writes a Table up to its first row.
func (q *request) openTable(b []byte, m listMeta, columns bool) ([]byte, error) {
	b = append(append(b, `{"kind":"Table","apiVersion":"meta.k8s.io/`...), q.out.version...)
	b = m.append(append(b, `","metadata":`...))
	b = append(b, `,"columnDefinitions":`...)
	if !columns {
		b = append(b, "null"...)
	} else {
		defs, err := q.columnDefinitions()
		if err != nil {
			return b, err
		}
		b = append(b, defs...)
	}
	return append(b, `,"rows":[`...), nil
}

// tableOf is a Table of the given objects.
func (q *request) tableOf(objects [][]byte, m listMeta) ([]byte, error) {
	include, err := q.includeObject()
	if err != nil {
		return nil, err
	}
	b, err := q.openTable(nil, m, true)
	if err != nil {
		return nil, err
	}
	for i, data := range objects {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = q.appendRow(b, data, include); err != nil {
			return nil, err
		}
	}
	return append(b, "]}"...), nil
}

// listTable streams a page as a Table. The metadata comes first in a Table, so the
// page is walked once for it and once for the rows.
func (q *request) listTable(p page) error {
	include, err := q.includeObject()
	if err != nil {
		return err
	}
	m, err := p.walk(func(*projections.Object) error { return nil })
	if err != nil {
		return err
	}
	out := newListWriter(q)
	defer out.release()
	if out.buf, err = q.openTable(out.buf, m, true); err != nil {
		return err
	}
	var row []byte
	first := true
	_, err = p.walk(func(o *projections.Object) error {
		data, err := q.served(o.JSON())
		if err != nil {
			return err
		}
		if row, err = q.appendRow(row[:0], data, include); err != nil {
			return err
		}
		sep := ","
		if first {
			sep, first = "", false
		}
		return out.append(sep, row)
	})
	if err != nil {
		if !out.started {
			return err
		}
		return q.cut(err)
	}
	out.buf = append(out.buf, "]}"...)
	return out.finish()
}

// tableRow is the Table of one watch event.
func (q *request) tableRow(data []byte, columns bool) ([]byte, error) {
	include, err := q.includeObject()
	if err != nil {
		return nil, err
	}
	b, err := q.openTable(nil, listMeta{version: gjson.GetBytes(data, "metadata.resourceVersion").String()}, columns)
	if err != nil {
		return nil, err
	}
	if b, err = q.appendRow(b, data, include); err != nil {
		return nil, err
	}
	return append(b, "]}"...), nil
}

// tableBookmark is the Table of a bookmark: a row without cells' content whose
// object carries the version and the annotation (apiserver/pkg/endpoints/handlers/
// response.go watchListTransformer).
func (q *request) tableBookmark(data []byte, columns bool) ([]byte, error) {
	b, err := q.openTable(nil, listMeta{version: gjson.GetBytes(data, "metadata.resourceVersion").String()}, columns)
	if err != nil {
		return nil, err
	}
	b = append(b, `{"cells":[`...)
	for i := range q.kind.Columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "null"...)
	}
	b = append(b, ']')
	return append(append(b, `,"object":`...), append(partial(data, q.out.version), "}]}"...)...), nil
}

// wrongMethod answers a verb that the path does not have.
func (q *request) wrongMethod() error {
	if q.verb == "" {
		return status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	}
	return q.notSupported()
}
