package main

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of process times in /proc, USER_HZ: it is 100 on every
// architecture that Go runs on.
const clockTick = time.Second / 100

// processStart is when this process started, as far as the system tells to a
// hundredth of a second: the time before main belongs to the start, too. Else
// it is now.
func processStart(now time.Time) time.Time {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return now
	}
	up, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return now
	}
	running, ok := age(stat, up)
	if !ok || running < 0 || running > time.Minute {
		return now
	}
	return now.Add(-running)
}

// age is how long the process of a stat line has been running.
func age(stat, uptime []byte) (time.Duration, bool) {
	// The command's name is in parentheses and may hold anything.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[i+1:])
	const startField = 22 - 3 // the fields after the name begin with the third
	up := bytes.Fields(uptime)
	if len(fields) <= startField || len(up) == 0 {
		return 0, false
	}
	ticks, err := strconv.ParseInt(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(string(up[0]), 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(seconds*float64(time.Second)) - time.Duration(ticks)*clockTick, true
}
