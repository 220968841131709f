//go:build race

package fieldmanager

const raceEnabled = true
