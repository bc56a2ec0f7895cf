package cmd

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"prospector/internal/admin"
	"prospector/internal/service"
)

// flagSettings are the settings that some commands have as flags, with the names of the flags.
var flagSettings = map[string]string{"addr": "addr", "data_dir": "data-dir", "sequences.speed": "speed"}

// loadConfig reads the settings of a command.
func loadConfig(c *cobra.Command) (service.Config, error) {
	return loadConfigWith(c, service.Defaults())
}

// loadConfigWith reads the settings of a command that has defaults of its own.
func loadConfigWith(c *cobra.Command, defaults service.Config) (service.Config, error) {
	from := service.Sources{Defaults: defaults, Flags: map[string]service.Flag{}}
	from.File, _ = c.Flags().GetString("config")
	for key, name := range flagSettings {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			from.Flags[key] = service.Flag{Name: name, Value: f.Value.String()}
		}
	}
	cfg, err := service.Load(from)
	if invalid := (*service.SettingsError)(nil); errors.As(err, &invalid) && invalid.Usage {
		return cfg, usageError{err}
	}
	return cfg, err
}

// run runs an operation with the settings of a command and shows its progress.
func run[In, Out any](c *cobra.Command, op admin.Operation[In, Out], in In) (Out, error) {
	return runFile(c, op, in, nil, 0)
}

// runAndShow runs an operation and shows its output.
func runAndShow[In, Out any](c *cobra.Command, op admin.Operation[In, Out], in In, text func(w io.Writer, out Out)) error {
	out, err := run(c, op, in)
	if err != nil {
		return err
	}
	return show(c, out, func(w io.Writer) { text(w, out) })
}

// runFile is run for an operation on a file.
func runFile[In, Out any](c *cobra.Command, op admin.Operation[In, Out], in In, file io.Reader, size int) (out Out, err error) {
	cfg, err := loadConfig(c)
	if err != nil {
		return out, err
	}
	by, finish := caller(c, cfg, op.Unit)
	defer finish()
	return op.RunFile(c.Context(), by, in, file, size)
}

// caller returns the caller of an admin operation. finish ends its display of progress.
func caller(c *cobra.Command, cfg service.Config, unit admin.Unit) (by admin.Caller, finish func()) {
	by = admin.Caller{Config: cfg, Fatal: fatal}
	by.Progress, finish = showProgress(c.ErrOrStderr(), unit.String())
	return by, finish
}

// fatal ends the process after a commit with an unknown outcome.
func fatal(err error) {
	slog.Error("the process ends: the outcome of a commit is unknown", "error", err)
	os.Exit(exitFailure)
}

// newTarget checks that a file can be written before the work begins.
func newTarget(c *cobra.Command, path string) (admin.Target, error) {
	cfg, err := loadConfig(c)
	if err != nil {
		return admin.Target{}, err
	}
	return admin.NewTarget(cfg, path)
}
