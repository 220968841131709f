package server

import (
	"fmt"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// definitionsResource are the CustomResourceDefinitions.
var definitionsResource = projections.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// restoreDefinitions feeds the registry from a snapshot.
func (s *Server) restoreDefinitions(st projections.State) error {
	for _, o := range st.Resources[definitionsResource] {
		if err := s.registry.SetDefinition(o.JSON()); err != nil {
			return fmt.Errorf("definition %s of the snapshot at %d: %w", o.Name(), st.Seq, err)
		}
	}
	return nil
}

// applyDefinitions feeds the registry from the log. A definition that cannot
// be read stops the server: its objects could not be served.
func (s *Server) applyDefinitions(changes []*projections.Change) {
	for _, c := range changes {
		if c.Resource() != definitionsResource {
			continue
		}
		if c.Op == eventlog.OpDelete {
			s.registry.RemoveDefinition(c.Object.Name())
			continue
		}
		if err := s.registry.SetDefinition(c.Object.JSON()); err != nil {
			s.fail(fmt.Errorf("record %d: definition %s: %w", c.Seq, c.Object.Name(), err))
			return
		}
	}
}
