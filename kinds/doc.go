// Package kinds knows which resources are served: the built-in ones, which are
// a catalogue of data, and the custom ones that definitions make.
package kinds
