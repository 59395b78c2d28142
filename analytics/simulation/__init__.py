"""What a simulation shows of a study's rules: which raters they find, by profile."""
