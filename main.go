// Prospector is a sales prospecting and outreach service: one binary, one data directory.
package main

import (
	"os"

	"prospector/cmd"
)

func main() { os.Exit(cmd.Execute(os.Args[1:], os.Stdout, os.Stderr)) }
