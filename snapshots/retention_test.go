package snapshots

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// floors says where the limits want the floor, from the records themselves: the lowest and the highest that is right. They
// differ only for the limit in bytes, which is exact but for the records between two marks.
func floors(l *memLog, lim limits, now time.Time) (lowest, highest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := uint64(len(l.entries))
	if lim.events > 0 && last > lim.events {
		lowest = last - lim.events
	}
	if lim.age > 0 {
		cutoff := now.Add(-lim.age).UnixNano()
		seq := uint64(0)
		for seq < last && l.entries[seq].Record.Time <= cutoff {
			seq++
		}
		lowest = max(lowest, seq)
	}
	highest = lowest
	if lim.bytes > 0 {
		kept, seq := uint64(0), last
		for seq > 0 && kept < lim.bytes {
			kept += uint64(l.entries[seq-1].Size)
			seq--
		}
		if kept >= lim.bytes {
			highest = max(highest, seq)
			if seq > 256 {
				lowest = max(lowest, seq-256)
			}
		}
	}
	return lowest, highest
}

// retention is a random run with one set of limits.
type retention struct {
	t     *testing.T
	rnd   *rand.Rand
	w     *world
	lim   limits
	every uint64
	floor uint64 // after the last tick
	burst int    // most records between two ticks
}

func (r *retention) configure(c *Config) {
	c.HistoryMaxAge, c.HistoryMaxBytes, c.HistoryMaxEvents = r.lim.age, int64(r.lim.bytes), r.lim.events
	c.Every = r.every
}

func (r *retention) step() {
	for range r.rnd.IntN(r.burst + 1) {
		name := fmt.Sprintf("cm-%d", r.rnd.IntN(20))
		if r.rnd.IntN(5) > 0 || r.w.log.remove(name, r.w.clock.Now()) == 0 {
			r.w.put(name, fmt.Sprint(r.rnd.Uint64()))
		}
		r.w.clock.advance(time.Duration(r.rnd.IntN(5)) * time.Millisecond)
	}
	r.w.clock.advance(r.lim.tick())
	if r.rnd.IntN(40) == 0 {
		r.w.clock.advance(time.Duration(r.rnd.Int64N(int64(time.Minute)))) // idle
	}
	r.w.tick()
	r.check()
}

func (r *retention) check() {
	t, log := r.t, r.w.log
	t.Helper()
	floor, first, last := r.w.proj.Floor(), log.First(), log.Last()
	lowest, highest := floors(log, r.lim, r.w.clock.Now())
	if lowest, highest = max(lowest, r.floor), max(highest, r.floor); floor < lowest || floor > highest {
		t.Fatalf("floor %d, should be in [%d, %d]", floor, lowest, highest)
	}
	r.floor = floor
	if first > floor+1 {
		t.Fatalf("log begins at %d, floor is %d", first, floor)
	}
	r.checkExcess(first, floor)
	if n := r.w.keeper.Status().Count; n > 24+int(2*r.lim.events/r.every) {
		t.Fatalf("%d snapshots", n)
	}
	for _, seq := range []uint64{floor, floor + r.rnd.Uint64N(last-floor+1)} {
		view, err := r.w.proj.At(t.Context(), configMaps, seq)
		if err != nil {
			t.Fatalf("state at %d (floor %d, log %d to %d): %v", seq, floor, first, last, err)
		}
		equalObjects(t, fmt.Sprintf("state at %d", seq), viewOf(view), log.model(seq))
	}
}

// checkExcess bounds what the log holds below the floor: a quarter of the window and what comes in a few ticks.
func (r *retention) checkExcess(first, floor uint64) {
	excess, slack := floor+1-first, uint64(4*r.burst+256)
	if excess <= slack {
		return
	}
	log := r.w.log
	log.mu.Lock()
	defer log.mu.Unlock()
	size := uint64(0)
	for _, e := range log.entries[first-1 : floor] {
		size += uint64(e.Size)
	}
	span := time.Duration(log.entries[floor-1].Record.Time - log.entries[first-1].Record.Time)
	perRecord := size / excess
	fits := r.lim.events > 0 && excess <= r.lim.events/4+slack ||
		r.lim.bytes > 0 && size <= r.lim.bytes/4+slack*perRecord ||
		r.lim.age > 0 && span <= r.lim.age/4+4*r.lim.tick()
	if !fits {
		r.t.Fatalf("the log holds %d records, %d bytes, %s below the floor; limits %+v", excess, size, span, r.lim)
	}
}

func (r *retention) restart() {
	r.w.stop()
	if r.rnd.IntN(3) == 0 {
		r.w.clock.advance(3 * max(r.lim.age, time.Minute))
	}
	log := r.w.log
	r.w = startWorld(r.t, log, r.w.clock, r.w.store, r.configure)
	equalObjects(r.t, "after a restart", viewOf(r.w.proj.View(configMaps)), log.model(log.Last()))
	// Until the first tick the floor may be a little lower, as far as the persisted one and the snapshots tell.
	if floor := r.w.proj.Floor(); floor > r.floor {
		r.t.Fatalf("floor %d after a restart, was %d", floor, r.floor)
	}
	r.floor = r.w.proj.Floor()
}

func TestRetentionKeepsExactlyWhatTheLimitsSay(t *testing.T) {
	for name, c := range map[string]struct {
		lim   limits
		every uint64
		burst int
	}{
		"age":         {limits{age: 2 * time.Second}, 100_000, 60},
		"short age":   {limits{age: 100 * time.Millisecond}, 100_000, 30},
		"events":      {limits{events: 500}, 100_000, 40},
		"few events":  {limits{events: 3}, 100_000, 10},
		"bytes":       {limits{bytes: 300_000}, 100_000, 60},
		"all":         {limits{age: 5 * time.Second, events: 1000, bytes: 500_000}, 100_000, 60},
		"small every": {limits{events: 2000}, 50, 40},
	} {
		t.Run(name, func(t *testing.T) {
			r := &retention{t: t, rnd: seeded(t), lim: c.lim, every: c.every, burst: c.burst}
			r.w = newWorld(t, r.configure)
			for i := range 150 {
				if r.rnd.IntN(25) == 0 {
					r.restart()
				}
				r.step()
				if i%50 == 0 {
					r.verify()
				}
			}
			r.verify()
		})
	}
}

func (r *retention) verify() {
	r.t.Helper()
	report, err := Verify(r.t.Context(), VerifyConfig{Log: r.w.log, Store: r.w.store, Live: r.w.proj})
	if err != nil {
		r.t.Fatal(err)
	}
	if report.Differs || !report.Live || report.To != r.w.log.Last() {
		r.t.Fatalf("%+v", report)
	}
}

func TestAgeLimitReadsFewRecords(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.HistoryMaxAge = time.Minute })
	for i := range 20_000 {
		w.put("cm", fmt.Sprint(i))
		w.clock.advance(5 * time.Millisecond)
	}
	w.sync()
	before := w.log.gets
	w.tick()
	if n := w.log.gets - before; n > 10 {
		t.Errorf("%d records read to find the age limit among 20,000", n)
	}
	if lowest, _ := floors(w.log, limits{age: time.Minute}, w.clock.Now()); w.proj.Floor() != lowest {
		t.Errorf("floor %d, want %d", w.proj.Floor(), lowest)
	}
}
