//go:build race

package kinds

// raceEnabled: pools drop some of what they are given.
const raceEnabled = true
