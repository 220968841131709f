package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says what program this is.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Modified  bool   `json:"modified,omitempty"`
	Built     string `json:"commitTime,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func buildInfo() build {
	b := build{Version: "devel", GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Built = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func versionCommand(env environment) *cobra.Command {
	output := "text"
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), env); err != nil {
				return err
			}
			b := buildInfo()
			if output == "json" {
				enc := json.NewEncoder(env.stdout)
				enc.SetIndent("", "  ")
				return enc.Encode(b)
			}
			text := "kronicle " + b.Version
			if b.Commit != "" {
				text += " (" + b.Commit
				if b.Modified {
					text += ", modified"
				}
				text += ")"
			}
			_, err := fmt.Fprintf(env.stdout, "%s %s %s\n", text, b.GoVersion, b.Platform)
			return err
		},
	}
	cmd.Flags().VarP(oneOf{&output, []string{"text", "json"}}, "output", "o", "form of the output")
	describeVariables(cmd.Flags())
	return cmd
}
