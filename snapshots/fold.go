package snapshots

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/kronicle/kronicle/eventlog"
	"github.com/kronicle/kronicle/projections"
)

// fold is what a log adds up to, by the simplest means: a map. It shares no code with the projections, which it checks, and
// keeps hashes instead of objects.
type fold struct {
	objects map[eventlog.Key]folded
	// gone is where objects were deleted since the last comparison, to tell since when a surplus object differs.
	gone  map[eventlog.Key]uint64
	round uint32 // of the comparison
}

type folded struct {
	rv    uint64
	sum   digest
	round uint32 // the comparison that has met the object
}

// digest stands for an object's served bytes.
type digest [16]byte

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:16])
}

func newFold() *fold {
	return &fold{objects: map[eventlog.Key]folded{}, gone: map[eventlog.Key]uint64{}}
}

// load begins with the state of a snapshot.
func (f *fold) load(ctx context.Context, r *reader) error {
	for i := range r.index.sections {
		s := &r.index.sections[i]
		err := r.each(ctx, s, func(o *projections.StoredObject) error {
			f.objects[keyOf(s.gr, o.Namespace, o.Name)] = folded{rv: o.RV, sum: digestOf(o.Data)}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// apply adds a record. What contradicts the state is told and the record taken as it is.
func (f *fold) apply(e *eventlog.Entry) (fault string) {
	rec := e.Record
	switch rec.Op {
	case eventlog.OpGenesis, eventlog.OpBarrier:
		return ""
	case eventlog.OpCreate, eventlog.OpUpdate, eventlog.OpDelete:
	default:
		return fmt.Sprintf("unknown operation %s", rec.Op)
	}
	was, exists := f.objects[e.Key]
	switch {
	case rec.Op == eventlog.OpCreate && exists:
		fault = fmt.Sprintf("a create of an object that exists since %d", was.rv)
	case rec.Op != eventlog.OpCreate && !exists:
		fault = fmt.Sprintf("a %s of an object that does not exist", rec.Op)
	case rec.Prev != was.rv:
		fault = fmt.Sprintf("the record follows %d, but the object is at %d", rec.Prev, was.rv)
	}
	if rec.Op == eventlog.OpDelete {
		delete(f.objects, e.Key)
		f.gone[e.Key] = e.Seq
		return fault
	}
	if rec.RVAt < 0 || rec.RVAt > len(rec.Object) {
		return "the place of the resourceVersion lies outside the object"
	}
	f.objects[e.Key] = folded{rv: e.Seq, sum: f.served(rec, e.Seq)}
	return fault
}

// served is the digest of the bytes with the resourceVersion in its place.
func (f *fold) served(rec *eventlog.Record, seq uint64) digest {
	h := sha256.New()
	version := strconv.AppendUint([]byte(`"resourceVersion":"`), seq, 10)
	h.Write(rec.Object[:rec.RVAt])
	h.Write(append(version, `",`...))
	h.Write(rec.Object[rec.RVAt:])
	return digest(h.Sum(nil)[:16])
}

// comparison is of the fold with another state at the same sequence.
type comparison struct {
	fold     *fold
	met      int
	findings []Finding
}

func (f *fold) compare() *comparison {
	f.round++
	return &comparison{fold: f}
}

func (c *comparison) find(seq uint64, key eventlog.Key, format string, args ...any) {
	c.findings = append(c.findings, Finding{Seq: seq, Object: key.String(), Detail: fmt.Sprintf(format, args...)})
	if len(c.findings) >= 2*maxFindings {
		c.findings = lowest(c.findings)
	}
}

// object takes one object of the other state.
func (c *comparison) object(key eventlog.Key, rv uint64, data []byte) {
	want, exists := c.fold.objects[key]
	if !exists {
		at, deleted := c.fold.gone[key]
		if !deleted {
			c.find(rv, key, "has an object with version %d that the log does not have", rv)
			return
		}
		c.find(at, key, "has an object with version %d that the log deletes at %d", rv, at)
		return
	}
	if want.round == c.fold.round {
		c.find(rv, key, "has the object twice")
		return
	}
	want.round = c.fold.round
	c.fold.objects[key] = want
	c.met++
	switch {
	case want.rv != rv:
		c.find(max(want.rv, rv), key, "has version %d of the object, the log has %d", rv, want.rv)
	case want.sum != digestOf(data):
		c.find(rv, key, "has other bytes for version %d than the log", rv)
	}
}

// finish looks for what the other state lacks.
func (c *comparison) finish() []Finding {
	if c.met < len(c.fold.objects) {
		for key, want := range c.fold.objects {
			if want.round != c.fold.round {
				c.find(want.rv, key, "lacks the object, whose version in the log is %d", want.rv)
			}
		}
	}
	clear(c.fold.gone)
	return c.findings
}
