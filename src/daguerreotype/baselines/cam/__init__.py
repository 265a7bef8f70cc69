"""CAM (Bühlmann, Peters and Ernest 2014)."""

from daguerreotype.baselines.cam.method import CAM

__all__ = ["CAM"]
