"""Writes the HLO dumps of training steps of Keras's networks, compiled by TensorFlow for the CPU.

    dump_keras_networks.py FOLDER [NAME…]

FOLDER gets NAME.before_optimizations.hlo and NAME.after_optimizations.hlo of each network. The step is one
of SGD with momentum. It runs once, on zeros, because only then are the variables that it updates donated
as in real training. `scripts/bench/search --make-keras` installs what this needs. It takes minutes.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

STAGES = ("before_optimizations", "after_optimizations")

# The names of keras.applications, and images in a batch.
NETWORKS = {
    "convnext": ("ConvNeXtTiny", 8),
    "densenet": ("DenseNet121", 16),
    "efficientnet": ("EfficientNetV2B0", 16),
    "inception": ("InceptionV3", 16),
    "mobilenet_v2": ("MobileNetV2", 32),
    "mobilenet_v3": ("MobileNetV3Large", 16),
    "nasnet": ("NASNetMobile", 8),
    "resnet50": ("ResNet50", 32),
    "resnet_v2": ("ResNet50V2", 16),
    "vgg19": ("VGG19", 8),
    "xception": ("Xception", 8),
}


def run_step(application, batch):
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    model = getattr(keras.applications, application)(weights=None)
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy()

    @tf.function(jit_compile=True)
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    sizes = [size or 224 for size in model.input_shape[1:3]]
    step(tf.zeros([batch, *sizes, 3]), tf.zeros([batch], tf.int32))


def dump(folder, name):
    """In a process of its own: XLA reads its flags once."""
    with tempfile.TemporaryDirectory() as dumps:
        environment = {**os.environ, "XLA_FLAGS": f"--xla_dump_to={dumps} --xla_dump_hlo_as_text",
                       "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
        subprocess.run([sys.executable, __file__, "--run", name], env=environment, check=True)
        for stage in STAGES:
            # The step is the largest, should TensorFlow compile anything else.
            largest = max(pathlib.Path(dumps).glob(f"*{stage}.txt"),
                          key=lambda file: file.stat().st_size)
            file = folder / f"{name}.{stage}.hlo"
            file.write_bytes(largest.read_bytes())
            print(file, flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--run":
        run_step(*NETWORKS[sys.argv[2]])
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        dump(folder, name)


if __name__ == "__main__":
    main()
