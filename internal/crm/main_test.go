package crm_test

import (
	"testing"

	"prospector/internal/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m, "internal/crm") }
