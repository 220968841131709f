package kinds

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// nameColumn comes first in every table.
func nameColumn() Column {
	return Column{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
}

// createdColumn is a column that shows metadata.creationTimestamp.
func createdColumn(name, typ string) Column {
	return Column{Name: name, Type: typ, Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}
}

func configMapColumns() []Column {
	return []Column{nameColumn(), {Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]}, createdColumn("Age", "string")}
}

func namespaceColumns() []Column {
	return []Column{nameColumn(), {Name: "Status", Type: "string", Description: "The status of the namespace"}, createdColumn("Age", "string")}
}

func leaseColumns() []Column {
	return []Column{nameColumn(), {Name: "Holder", Type: "string", Description: coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]}, createdColumn("Age", "string")}
}

func definitionColumns() []Column { return []Column{nameColumn(), createdColumn("Created At", "date")} }

func configMapCells(obj map[string]any, now time.Time) []any {
	return []any{int64(len(child(obj, "data")) + len(child(obj, "binaryData"))), created(obj, now)}
}

func namespaceCells(obj map[string]any, now time.Time) []any {
	return []any{text(child(obj, "status"), "phase"), created(obj, now)}
}

func leaseCells(obj map[string]any, now time.Time) []any {
	return []any{text(child(obj, "spec"), "holderIdentity"), created(obj, now)}
}

func definitionCells(obj map[string]any, _ time.Time) []any {
	t, _ := time.Parse(time.RFC3339, text(child(obj, "metadata"), "creationTimestamp"))
	return []any{t.UTC().Format(time.RFC3339)}
}

// created is the age of an object as people read it.
func created(obj map[string]any, now time.Time) string {
	t, err := time.Parse(time.RFC3339, text(child(obj, "metadata"), "creationTimestamp"))
	if err != nil || t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}
