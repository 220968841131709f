package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
)

// bytesValue is a flag for a number of bytes, with or without a suffix:
// 67108864, 64MiB, 1.5GiB, 10GB. Suffixes without an i are powers of ten.
type bytesValue int64

var byteUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"B", 1},
}

// Set implements pflag.Value.
func (v *bytesValue) Set(s string) error {
	number, factor := strings.TrimSpace(s), 1.0
	for _, u := range byteUnits {
		if len(number) > len(u.suffix) && strings.EqualFold(number[len(number)-len(u.suffix):], u.suffix) {
			number, factor = strings.TrimSpace(number[:len(number)-len(u.suffix)]), u.factor
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && factor == 1 {
		*v = bytesValue(n)
		return notNegative(n)
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("not a number of bytes like 1048576, 64MiB or 10GiB")
	}
	if f *= factor; f >= math.MaxInt64 {
		return errors.New("too many bytes")
	}
	*v = bytesValue(f)
	if f < 0 {
		return notNegative(-1)
	}
	return nil
}

func notNegative(n int64) error {
	if n < 0 {
		return errors.New("may not be negative")
	}
	return nil
}

// String implements pflag.Value: the largest unit that divides the number.
func (v *bytesValue) String() string {
	n := int64(*v)
	for _, u := range []struct {
		suffix string
		factor int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n != 0 && n%u.factor == 0 {
			return fmt.Sprintf("%d%s", n/u.factor, u.suffix)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Type implements pflag.Value.
func (v *bytesValue) Type() string { return "bytes" }

// oneOf is a flag for one of a few words.
type oneOf struct {
	value *string
	words []string
}

// Set implements pflag.Value.
func (o oneOf) Set(s string) error {
	for _, w := range o.words {
		if s == w {
			*o.value = s
			return nil
		}
	}
	return fmt.Errorf("must be %s", strings.Join(o.words, " or "))
}

// String implements pflag.Value.
func (o oneOf) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

// Type implements pflag.Value.
func (o oneOf) Type() string { return strings.Join(o.words, "|") }

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}
