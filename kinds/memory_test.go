package kinds

import (
	"runtime"
	"testing"
)

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestUnusedDefinitionsAreSmall(t *testing.T) {
	const n = 200
	all := manyDefinitions(t, n)
	r := NewRegistry()
	r.Current()
	before := heap()
	for _, data := range all {
		if err := r.SetDefinition(data); err != nil {
			t.Fatal(err)
		}
	}
	c := r.Current()
	unused := (heap() - before) / n
	before = heap()
	used := 0
	c.Kinds(func(k *Kind) bool {
		if k.Custom && k.Version == "v1" {
			used++
			if _, err := k.schema(); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	compiled := (int64(heap()) - int64(before)) / int64(used)
	t.Logf("%d bytes a definition beyond its own %d, %d more once it is used", unused, len(all[0]), compiled)
	if unused > 20<<10 {
		t.Errorf("%d bytes a definition", unused)
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(c)
}
