package eventlog

// recentSize is how many subjects one generation of the recent map holds.
const recentSize = 8 << 10

// fate is what is known of an object's last record.
type fate struct {
	seq     uint64
	deleted bool
}

// recent remembers the last record of recently written subjects in two generations: when the
// young one is full it becomes the old one. It saves the server a refused append, and above all
// the load of a tombstone before a re-create; it is never needed for correctness.
type recent struct {
	young, old map[string]fate
}

func (r *recent) get(subject string) (fate, bool) {
	if f, ok := r.young[subject]; ok {
		return f, true
	}
	f, ok := r.old[subject]
	return f, ok
}

// put notes a record unless a newer one is known.
func (r *recent) put(subject string, f fate) {
	if known, ok := r.get(subject); ok && known.seq > f.seq {
		return
	}
	if r.young == nil || len(r.young) >= recentSize {
		r.old, r.young = r.young, make(map[string]fate, recentSize/8)
	}
	r.young[subject] = f
}
