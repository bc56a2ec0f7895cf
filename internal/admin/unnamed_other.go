//go:build !linux

package admin

import (
	"errors"
	"os"
)

func createUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func nameFile(*os.File, string) error { return errors.ErrUnsupported }
