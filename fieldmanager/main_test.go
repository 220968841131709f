package fieldmanager

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	sigsjson "sigs.k8s.io/json"
)

var (
	seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 picks one")
	rewrite  = flag.Bool("rewrite", false, "write what happens into the histories of testdata")
)

// testSeed returns the seed of a random test and prints it.
func testSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d (repeat with -seed=%d)", seed, seed)
	return seed
}

func parse(t testing.TB, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(s), &m); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return m
}

func render(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// stored is obj as it comes back from the log.
func stored(t testing.TB, obj map[string]any) map[string]any { return parse(t, render(obj)) }

func mustType(t testing.TB, schema string) *Type {
	t.Helper()
	typ, err := FromOpenAPI([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func at(second int) time.Time { return time.Unix(1_700_000_000+int64(second), 0) }
