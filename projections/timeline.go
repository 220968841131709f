package projections

import (
	"slices"
	"sort"
	"sync"

	"github.com/kronicle/kronicle/eventlog"
)

// Mark is a point of the timeline, by which ages and sizes of the log become sequences.
type Mark struct {
	Seq   uint64
	Time  int64  // Unix nanoseconds of the record, never less than that of the mark before
	Bytes uint64 // of all records up to and including Seq, since the log began
}

// A mark is made at least every markRecords records, and whenever a record is
// markStep nanoseconds younger than the last mark.
const (
	markRecords = 256
	markStep    = int64(1e9)
)

// timeline samples the records as they are applied.
type timeline struct {
	mu    sync.Mutex
	marks []Mark
	last  Mark // where the log is now
	since int  // records since the last mark
}

func (t *timeline) restore(marks []Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks, t.since = slices.Clone(marks), 0
	t.last = Mark{}
	if n := len(marks); n > 0 {
		t.last = marks[n-1]
	}
}

// note takes up the records of a batch.
func (t *timeline) note(entries []eventlog.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range entries {
		e := &entries[i]
		t.last = Mark{e.Seq, max(t.last.Time, e.Record.Time), t.last.Bytes + uint64(e.Size)}
		t.since++
		n := len(t.marks)
		if n == 0 || t.since >= markRecords || t.last.Time-t.marks[n-1].Time >= markStep {
			t.marks = append(t.marks, t.last)
			t.since = 0
		}
	}
}

// trim drops the marks that a floor has made useless, all but one below it.
func (t *timeline) trim(floor uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].Seq > floor })
	if i > 1 {
		t.marks = slices.Clone(t.marks[i-1:])
	}
}

// read returns the marks, and where the log is now as the last of them.
func (t *timeline) read() []Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	marks := make([]Mark, len(t.marks), len(t.marks)+1)
	copy(marks, t.marks)
	if n := len(marks); t.last.Seq > 0 && (n == 0 || marks[n-1].Seq < t.last.Seq) {
		marks = append(marks, t.last)
	}
	return marks
}
