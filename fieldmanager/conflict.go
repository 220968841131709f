package fieldmanager

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/merge"
)

// ErrConflict is what a ConflictError is.
var ErrConflict = errors.New("apply conflict")

// A ConflictError tells that an apply would take fields away from others. Its
// text is the message of the answer, which is 409.
type ConflictError struct {
	Causes []Cause // by manager, then by path
}

// A Cause is one field that somebody else owns.
type Cause struct {
	// Message is the text of the cause, such as `conflict with "kubectl"`.
	Message string
	// Field is the path, such as `.spec.replicas`.
	Field string

	owner string // manager with what tells it apart
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

func (e *ConflictError) Error() string {
	if len(e.Causes) == 1 {
		c := e.Causes[0]
		return fmt.Sprintf("Apply failed with 1 conflict: %s: %s", c.Message, c.Field)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Apply failed with %d conflicts: ", len(e.Causes))
	for i, c := range e.Causes {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 || c.owner != e.Causes[i-1].owner {
			fmt.Fprintf(&b, "conflicts with %s:\n", c.owner)
		}
		b.WriteString("- " + c.Field)
	}
	return b.String()
}

// newConflictError puts conflicts in the words of Kubernetes. The library
// gives them in any order.
func newConflictError(conflicts merge.Conflicts, times map[string]string) *ConflictError {
	conflicts = slices.Clone(conflicts)
	slices.SortStableFunc(conflicts, func(a, b merge.Conflict) int { return strings.Compare(a.Manager, b.Manager) })
	e := &ConflictError{Causes: make([]Cause, len(conflicts))}
	for i, c := range conflicts {
		owner := ownerText(c.Manager, times[c.Manager])
		e.Causes[i] = Cause{Message: "conflict with " + owner, Field: c.Path.String(), owner: owner}
	}
	return e
}

// ownerText names an owner. Updates are told apart by version and time.
func ownerText(id, at string) string {
	i := parseIdentity(id)
	s := fmt.Sprintf("%q", i.Manager)
	if i.Subresource != "" {
		s += fmt.Sprintf(" with subresource %q", i.Subresource)
	}
	if i.Operation != opUpdate {
		return s
	}
	s += " using " + i.APIVersion
	if at != "" {
		s += " at " + at
	}
	return s
}
