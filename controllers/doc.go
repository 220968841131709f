// Package controllers holds what a bare API server needs to feel alive. A controller
// follows the projections like any watcher and writes like any client: whatever it
// does is in the log under the server's own name.
//
// Cleanup empties what is being deleted and holds other objects: a namespace its
// namespaced objects, a definition the objects of its kind. When nothing is left it
// lets go of the holder itself.
//
// # Invariants
//
//	C1  A holder goes only after a look at the newest state has found nothing in it.
//	    Nothing new can come into it meanwhile: creation in a terminating namespace or
//	    of a terminating definition is refused. (Cleanup; httpapi refuses)
//	C2  Work that was under way when a server stopped is found again at the next start:
//	    the deletion marks in the store are the only to-do list. (Cleanup.Run)
//	C3  Running twice, also on two servers at once, does no harm: every step looks at
//	    what is there. (API)
package controllers
