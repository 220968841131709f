// Package httpapi serves the Kubernetes API over HTTP from the projections of the log.
//
// A request goes through few hands, each in a file of its own: a route (path.go)
// names a kind, a namespace, a name and a verb; the options of the query are read
// and validated (options.go); reads answer from the projections with bytes that
// already exist (get.go, list.go, watch.go); writes build the next state of an
// object (create.go, update.go, patch.go, delete.go over meta.go, managers.go for who owns which field) and append it to
// the log (commit.go). Whatever fails becomes a Status in one place (status.go).
//
// # Invariants
//
//	I1  A write answers after its own sequence is applied to the projections, so a
//	    client that has the answer reads its own write. (commit.go)
//	I2  The path of a write reaches the log at most once for each answer it gives:
//	    conflicts of patches are tried again on the newest state, everything else is
//	    told to the client as it is. An outcome that is not known is a 504 that says
//	    so, never a success or a conflict. (commit.go, status.go)
//	I3  A list, and every page of it, is the state at exactly the resourceVersion it
//	    names. (list.go)
//	I4  A watch sends every change of its selection behind its start once and in
//	    order, and a bookmark's resourceVersion only when everything up to it has been
//	    sent. (watch.go)
//	I5  Object bytes of the projections are written to clients, never changed. An
//	    object is encoded once, when it is written. (commit.go)
//	I6  A dry run never reaches the log. (commit.go)
//	I7  Every error answer is a Status built by status.go, but for unknown paths (plain
//	    404) and the in-flight limit (plain 429), which clients know in that form.
//
// # Caveats
//
// Objects are handled as maps between decoding and encoding and nowhere else; a
// handler that keeps one after its request keeps a decoded object alive.
package httpapi
