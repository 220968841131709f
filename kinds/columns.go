package kinds

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// columnPath finds the value of a column; nil if its path is not a good one.
type columnPath = *jsonpath.JSONPath

// customColumns reads the columns of a version of a definition: the name, and
// then those it lists or else the age.
func customColumns(v map[string]any) []Column {
	list, _ := v["additionalPrinterColumns"].([]any)
	columns := []Column{nameColumn()}
	for _, c := range list {
		c, _ := c.(map[string]any)
		column := Column{
			Name: text(c, "name"), Type: text(c, "type"), Format: text(c, "format"),
			Description: text(c, "description"), JSONPath: text(c, "jsonPath"),
		}
		if p, ok := c["priority"].(int64); ok {
			column.Priority = int32(p)
		}
		if column.Description == "" {
			column.Description = "Custom resource definition column (in JSONPath format): " + column.JSONPath
		}
		columns = append(columns, column)
	}
	if len(list) == 0 {
		age := createdColumn("Age", "date")
		age.JSONPath = ".metadata.creationTimestamp"
		columns = append(columns, age)
	}
	return columns
}

// Cells returns the cells of the object's row in a Table, one for each of
// Columns: strings, int64, float64, bool, or nil where there is no value.
func (k *Kind) Cells(objJSON []byte, now time.Time) ([]any, error) {
	obj, _, err := DecodeJSON(objJSON)
	if err != nil {
		return nil, fmt.Errorf("cells of a %s: %w", k.Kind, err)
	}
	if k.rules.nameless {
		return k.rules.cells(obj, now), nil
	}
	cells := make([]any, 1, len(k.Columns))
	cells[0] = text(child(obj, "metadata"), "name")
	if k.rules.cells != nil {
		return append(cells, k.rules.cells(obj, now)...), nil
	}
	for i, path := range k.paths.get(k.compilePaths) {
		cells = append(cells, cell(path, k.Columns[i+1].Type, obj, now))
	}
	return cells, nil
}

// compilePaths parses the columns' paths, once a kind and only if someone asks
// for a table.
func (k *Kind) compilePaths() []columnPath {
	paths := make([]columnPath, 0, len(k.Columns)-1)
	for _, c := range k.Columns[1:] {
		p := jsonpath.New(c.Name)
		if p.Parse("{"+c.JSONPath+"}") != nil {
			p = nil
		}
		if p != nil {
			p.AllowMissingKeys(true)
		}
		paths = append(paths, p)
	}
	return paths
}

// cell finds and renders one cell; nil if there is nothing to show.
func cell(path columnPath, typ string, obj map[string]any, now time.Time) any {
	if path == nil {
		return nil
	}
	results, err := path.FindResults(obj)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	value := results[0][0].Interface()
	if typ != "string" {
		return typedCell(typ, value, now)
	}
	var b strings.Builder
	if path.PrintResults(&b, []reflect.Value{reflect.ValueOf(value)}) != nil {
		return nil
	}
	return b.String()
}

func typedCell(typ string, value any, now time.Time) any {
	switch v := value.(type) {
	case int64:
		switch typ {
		case "integer":
			return v
		case "number":
			return float64(v)
		}
	case float64:
		switch typ {
		case "integer":
			return int64(v)
		case "number":
			return v
		}
	case bool:
		if typ == "boolean" {
			return v
		}
	case string:
		if typ == "date" {
			return dateCell(v, now)
		}
	}
	return nil
}

func dateCell(s string, now time.Time) any {
	var t metav1.Time
	switch err := t.UnmarshalQueryParameter(s); {
	case err != nil:
		return "<invalid>"
	case t.IsZero():
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t.Time))
}
