//go:build !linux

package force_test

import (
	"context"
	"errors"
)

func fillUntilLimit(context.Context, string) error {
	return errors.New("the limits of the system are tried on linux only")
}
