"""vi_dp_dag."""
